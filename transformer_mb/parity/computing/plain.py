"""Code of the reference's own where all backends share one: searches, accumulated steps, positions.

A mistake in the neutral half (``decoding``, ``trainer``, ``distributed.shares``, ``positions``) would else be on both sides
of every cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...decoding.beam_search import ScoredIds
from ...registry import load_backend_class
from ...trainer import Trainer
from .plain_search import PlainSearch

Masks = Mapping[str, np.ndarray]


@lru_cache(maxsize=1)
def plain_backend() -> Backend:
    loaded: Any = load_backend_class("numpy")
    trainer = type("PlainTrainer", (_OneBatch, loaded.trainer_class), {})
    made: Any = type("PlainReference", (_Plainly, loaded), {"trainer_class": trainer})
    backend: Backend = made(dtype="float64")
    trainer.backend = backend  # type: ignore[attr-defined]
    return backend


class _Plainly:
    """The calls of a backend that the matrix makes."""

    def greedy(self, model: Any, source: Any, lens: Any, max_steps: int, *, prefixes: Any = None) -> list[list[int]]:
        return [found.ids for found in self._search(model, source, lens, max_steps, prefixes=prefixes).run()]

    def beam(self, *given: Any, **options: Any) -> list[list[int]]:
        return [found[0].ids for found in self.hypotheses(*given, **options)]

    def hypotheses(
        self,
        model: Any,
        source: Any,
        lens: Any,
        max_steps: int,
        beam: int = 4,
        length_penalty: float = 0.6,
        *,
        n_best: int = 1,
        **options: Any,
    ) -> list[list[ScoredIds]]:
        assert n_best == 1
        width = None if beam == 1 else beam
        return [[found] for found in self._search(model, source, lens, max_steps, width, length_penalty, **options).run()]

    def _search(self, model: Any, *given: Any, **options: Any) -> PlainSearch:
        if model.config.compat_decode == "d2l":
            model = self._at_position_0(model)
        return PlainSearch(self, model, *given, **options)  # type: ignore[arg-type]  # it is mixed into a backend

    def _at_position_0(self, model: Any) -> Any:
        """Feed a decoder as the book's predictor does: one token after the other, each at position 0."""
        copy = self.create_empty(model.config.replace(compat_decode="correct"))  # type: ignore[attr-defined]
        self.set_weights(copy, self.get_weights(model))  # type: ignore[attr-defined]
        layer = copy.decoder.pos_encoding
        layer.P = np.repeat(layer.P[model.config.position_offset][None], len(layer.P), axis=0)
        return copy

    def _place(self, module: Any) -> Any:
        """Put in the positions, a table that a layer makes when it is made."""
        for _, layer in module.named_layers():
            if hasattr(layer, "P"):
                layer.P = sinusoids(*layer.P.shape, layer.layout == "interleaved")
        return super()._place(module)  # type: ignore[misc]


class _OneBatch(Trainer):
    """A step on one batch of all rows, padded to the widest, whose loss the loss itself divides."""

    backend: Backend

    def accumulated_step(self, batches: Sequence[Batch], dropout_masks: Sequence[Masks] | None = None) -> float:
        if dropout_masks is None:  # what the trainer drops by itself is of each batch
            return float(super().accumulated_step(batches))
        together = Batch(*(_joined(arrays) for arrays in zip(*batches, strict=True)))
        loss, gradients = self.backend.loss_and_gradients(
            self.model,
            together,
            normalization=self.options.normalization,
            label_smoothing=self.options.label_smoothing,
            dropout_masks={path: _joined([masks[path] for masks in dropout_masks]) for path in dropout_masks[0]},
        )
        self.update(gradients)
        return loss


def _joined(arrays: Sequence[Any]) -> Any:
    """The rows of all, whose other axes are as long as the longest; None where there are none."""
    if arrays[0] is None:
        return None
    shape = np.max([array.shape[1:] for array in arrays], axis=0).astype(int)
    whole = np.zeros((sum(map(len, arrays)), *shape), arrays[0].dtype)
    begin = 0
    for array in arrays:
        whole[(slice(begin, begin + len(array)), *map(slice, array.shape[1:]))] = array
        begin += len(array)
    return whole


@lru_cache(maxsize=32)
def sinusoids(positions: int, width: int, interleaved: bool) -> np.ndarray:
    """[positions, D] by Vaswani et al. 2017, section 3.5, number by number."""
    table = np.empty((positions, width))
    for position in range(positions):
        for pair in range(width // 2):
            angle = position / 10000.0 ** (2 * pair / width)
            sine, cosine = (2 * pair, 2 * pair + 1) if interleaved else (pair, width // 2 + pair)
            table[position, sine], table[position, cosine] = math.sin(angle), math.cos(angle)
    return table
