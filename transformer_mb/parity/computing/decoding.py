"""What a backend decodes for the matrix: tokens of a search, and the logits of a decoder that is fed in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backend import Backend
from .left_behind import kept_unasked
from .making import Spec, model_of
from .messages import Arrays, under
from .mistaken_searches import mistaken
from .native_dtypes import made_of


def decode(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Tokens [B, max_steps], -1 after the end; and the logits along ``target``, to measure their error by.

    Also the best hypothesis as a search gives it that tells scores (greedily of one hypothesis): its ``scored tokens``, and
    ``scores`` [B, 2], after the penalties and before. ``prefixes`` are forced, -1 after their end. A ``mistake`` is a negative
    control: see ``mistaken_searches``; one of a prefix is made here.
    """
    native = model_of(backend, spec["config"], arrays)
    inputs = native, arrays["source"], arrays["source_valid_lens"], spec["max_steps"]
    source, lens = inputs[1:3]
    mistake, prefixes = spec["mistake"], [[int(one) for one in row if one >= 0] for row in arrays.get("prefixes", ())]
    unread = mistake in ("no prefix", "prefix not read")
    # What is not asked for is not given, so that a backend of another package needs no name for it.
    forced: dict[str, Any] = {"prefixes": prefixes} if prefixes and not unread else {}
    covering = {**forced, "coverage_penalty": spec["coverage_penalty"]} if spec["coverage_penalty"] else forced
    searching = mistaken(backend, None if unread else mistake)
    best = [
        found[0] for found in searching.hypotheses(*inputs, spec["beam"] or 1, spec["length_penalty"], n_best=1, **covering)
    ]
    scored = [found.ids for found in best]
    if spec["beam"] is not None:
        rows = searching.beam(*inputs, spec["beam"], spec["length_penalty"], **covering)
    else:
        rows = backend.greedy(*inputs, **forced) if searching is backend else scored
    if mistake == "prefix not read":
        rows = [[*prefix, *row[len(prefix) :]] for prefix, row in zip(prefixes, rows, strict=True)]
    answer = {"tokens": _in_rows(rows, spec["max_steps"]), "scored tokens": _in_rows(scored, spec["max_steps"])}
    answer["scores"] = np.array([[found.score, found.log_probability] for found in best])
    if "target" in arrays:
        answer["logits"] = _logits_of_steps(backend, native, source, lens, arrays["target"])
    return answer


def _in_rows(hypotheses: list[list[int]], steps: int) -> np.ndarray:
    """[B, steps], -1 after the end."""
    tokens = np.full((len(hypotheses), steps), -1, np.int64)
    for row, ids in zip(tokens, hypotheses, strict=True):
        row[: len(ids)] = ids
    return tokens


def cached(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """The ``logits`` of a target that is fed to the decoder in pieces; those of left padding, which nothing says, are 0."""
    native = model_of(backend, spec["config"], arrays)
    batch, padding = under("batch", arrays), arrays.get("left_padding")
    states, lens = None, batch.get("source_valid_lens")
    if native.config.has_encoder:
        states = backend.encode(native, batch["source"], lens)
    state = backend.apply(native.decoder.init_state, states, lens, spec["max_steps"], padding)
    logits = []
    for piece in np.split(batch["target_in"], np.cumsum(spec["pieces"])[:-1], axis=1):
        output, state = backend.apply(native.decoder, piece, state)
        logits.append(output)
    whole = made_of(logits, np.concatenate(logits, axis=1))
    if padding is not None:
        whole[np.arange(whole.shape[1]) < padding[:, None]] = 0.0
    return {"logits": whole, **kept_unasked(native.decoder)}


def _logits_of_steps(backend: Backend, native: Any, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[B, steps, V]: of a decoder alone, whose prompts the target begins with, those after each row's prompt."""
    if native.config.has_encoder:
        return backend.logits(native, source, target, lens)
    logits = backend.logits(native, None, target)
    steps = np.arange(target.shape[1] - lens.max() + 1) + lens[:, None] - 1
    return made_of([logits], np.take_along_axis(logits, steps[..., None], axis=1))
