"""Greedy tokens of two sides: the same, or parted where the reference itself hardly knows which to take."""

from __future__ import annotations

import numpy as np

from ..model import Arrays, PortedModel
from .probe import END, run_reference

TIE = 10.0  # a choice between tokens that lie closer than so many times their logits' error may go either way


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
    """How far below the best token of the reference the worse of both choices lies, after what both sides chose before; and
    the error of the logits of these two tokens in this row, so that no other row and no other token excuses them."""
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
