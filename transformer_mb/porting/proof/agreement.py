"""Distances of two outputs, such that no number of any size hides another.

Each difference is divided by the scale of its place: the largest of the number itself, the medians of its position and of its
column, and the median of all, where a median is that of absolute values. Medians ignore the few that are huge (a logit of
-1e5, there to rule a token out); and what is tiny throughout is measured by its own size. The error is the root mean square
over a sentence or over a column, whichever is the largest. (Not over a position: a normalisation of small variance multiplies
rounding errors by ten at some positions of any model, measured with MXNet's own arithmetic.)
"""

from __future__ import annotations

import numpy as np

from ..model import Arrays, PortedModel
from .probe import END, run_reference

LIMIT = 1e-5  # of an output's error in float32
TIE = 10.0  # a choice between tokens that lie closer than this many times their logits' error may go either way


def not_finite(array: np.ndarray) -> int:
    return int(np.size(array) - np.count_nonzero(np.isfinite(array)))


def error(got: np.ndarray, reference: np.ndarray, sentences: np.ndarray) -> float:
    """Measure finite arrays [..., C]; ``sentences`` are the numbers of the sentences that the positions before C belong to."""
    columns = reference.shape[-1]
    got, reference = (np.asarray(side, np.float64).reshape(-1, columns) for side in (got, reference))
    if not reference.size:
        return 0.0
    sizes, difference = np.abs(reference), np.abs(got - reference)
    if not sizes.any():
        return float("inf") if difference.any() else 0.0
    scale = np.maximum(np.maximum(sizes, np.median(sizes, axis=0)), np.median(sizes, axis=1)[:, None])
    squares = (difference / np.maximum(scale, np.median(sizes[sizes > 0]))) ** 2
    by_sentence = [squares[sentences == number].mean() for number in np.unique(sentences)]
    return float(np.sqrt(np.max([*by_sentence, *squares.mean(axis=0)])))


def finite_part(
    name: str, batch: Arrays, never: tuple[int, ...], got: np.ndarray, expected: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Leave out encoder states at padding, where foreign code may leave anything, and logits ruled out by -inf on both
    sides; return the rest, and the sentence of each position."""
    sides, sentences = [got, expected], np.indices(got.shape[:-1])[0]
    if name == "encoder" and "source_valid_lens" in batch:
        valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
        sides, sentences = [side[valid] for side in sides], sentences[valid]
    if name == "logits":
        ruled_out = [i for i in never if i < got.shape[-1] and all(np.isneginf(side[..., i]).all() for side in sides)]
        sides = [np.delete(side, ruled_out, axis=-1) for side in sides]
    return sides, sentences.reshape(-1)


def token_differences(
    model: PortedModel, batch: Arrays, expected: Arrays, got: Arrays
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Rows where the greedy tokens part: at a near-tie, and at none."""
    if "tokens" not in expected and "tokens" not in got:
        return (), ()
    if "tokens" not in expected or "tokens" not in got or expected["tokens"].shape != got["tokens"].shape:
        return (), ("the greedy tokens of one side are missing or of another length",)
    ties: list[str] = []
    failures: list[str] = []
    for row in np.flatnonzero((expected["tokens"] != got["tokens"]).any(axis=1)):
        step = int(np.flatnonzero(expected["tokens"][row] != got["tokens"][row])[0])
        margin, noise = _margin(model, batch, expected, got, int(row), step)
        text = f"row {row}, step {step}: {expected['tokens'][row, step]} or {got['tokens'][row, step]}, margin {margin:.1e}"
        (ties if margin <= TIE * noise else failures).append(text)
    return tuple(ties), tuple(f"greedy tokens differ at {text}" for text in failures)


def _margin(model: PortedModel, batch: Arrays, expected: Arrays, got: Arrays, row: int, step: int) -> tuple[float, float]:
    """Return how far below the reference's best token the worse of both choices lies, after what both sides chose before;
    and the logits' error of these two tokens in this row, so that no other row and no other token excuses them."""
    config = model.config
    prefix = [config.start_id, *expected["tokens"][row, :step].tolist()]
    one = {name: array[row : row + 1] for name, array in batch.items()}
    reference = run_reference(model, {**one, "target": np.array([prefix], np.int64)})["logits"][0, -1]
    chosen = [config.eos_id if side["tokens"][row, step] == END else int(side["tokens"][row, step]) for side in (expected, got)]
    if set(chosen) & set(config.suppress_ids) or np.max(chosen) >= len(reference):
        return np.inf, 0.0
    best = np.delete(reference, list(config.suppress_ids)).max()
    sides = (_row_logits(side, config.suppress_ids, len(reference), row, chosen) for side in (expected, got))
    noise = np.abs(np.subtract(*sides)).max()
    return float(best - reference[chosen].min()), float(
        np.maximum(noise, np.finfo(np.float32).eps * np.abs(reference[chosen]).max())
    )


def _row_logits(side: Arrays, never: tuple[int, ...], size: int, row: int, chosen: list[int]) -> np.ndarray:
    """[T, 2], of logits that may be without the tokens that are never produced."""
    logits = np.asarray(side["logits"][row], np.float64)
    kept = np.arange(size) if logits.shape[-1] == size else np.delete(np.arange(size), list(never))
    return logits[:, np.searchsorted(kept, chosen)]
