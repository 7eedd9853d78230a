"""Code of the reference's own where all backends share one: searches, accumulated steps, positions.

A mistake in the neutral half (``decoding``, ``trainer``, ``distributed.shares``, ``positions``) would else be on both sides
of every cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...decoding.beam_search import ScoredIds
from ...registry import load_backend_class
from ...trainer import Trainer

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

    def greedy(self, model: Any, source: Any, lens: Any, max_steps: Any, *, prefixes: Any = None) -> list[list[int]]:
        return [found[0].ids for found in self._search(model, source, lens, max_steps, prefixes=prefixes).run()]

    def beam(self, *given: Any, **options: Any) -> list[list[int]]:
        return [found[0].ids for found in self.hypotheses(*given, **options)]

    def hypotheses(
        self,
        model: Any,
        source: Any,
        lens: Any,
        max_steps: Any,
        beam: int = 4,
        length_penalty: float = 0.6,
        *,
        n_best: int = 1,
        **options: Any,
    ) -> list[list[ScoredIds]]:
        width = None if beam == 1 else beam
        return self._search(model, source, lens, max_steps, width, length_penalty, n_best=n_best, **options).run()

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
        """Put in the positions and the turns, tables that a layer makes when it is made."""
        for _, layer in module.named_layers():
            if hasattr(layer, "P"):
                layer.P = sinusoids(*layer.P.shape, layer.layout)
            if hasattr(layer, "turns"):
                layer.turns = turns(*layer.turns.shape[::2], layer.base, layer.layout)
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
def sinusoids(positions: int, width: int, layout: str) -> np.ndarray:
    """[positions, D] by Vaswani et al. 2017, section 3.5, number by number; fairseq's last wavelength is the longest."""
    table = np.empty((positions, width))
    for position in range(positions):
        for pair in range(width // 2):
            exponent = pair / (width // 2 - 1 or 1) if layout == "fairseq" else 2 * pair / width
            sine, cosine = _places(pair, width, layout)
            angle = position / 10000.0**exponent
            table[position, sine], table[position, cosine] = math.sin(angle), math.cos(angle)
    return table


@lru_cache(maxsize=32)
def turns(positions: int, width: int, base: float, layout: str) -> np.ndarray:
    """[positions, 2, d] by Su et al. 2021, equation 34, number by number: what a number is multiplied by, and its partner."""
    table = np.empty((positions, 2, width))
    for position in range(positions):
        for pair in range(width // 2):
            first, second = _places(pair, width, layout)
            angle = position * base ** (-2 * pair / width)
            table[position, 0, [first, second]] = math.cos(angle)
            table[position, 1, first], table[position, 1, second] = -math.sin(angle), math.sin(angle)
    return table


def _places(pair: int, width: int, layout: str) -> tuple[int, int]:
    return (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, width // 2 + pair)


LEAST = 1e-12  # the smallest attention whose logarithm is taken


@dataclass(frozen=True)
class Path:
    """The tokens after the first, or the prompt, of one row; ``total``: the log-probability of what was chosen freely."""

    row: int
    ids: tuple[int, ...] = ()
    total: float = 0.0


@dataclass(frozen=True)
class PlainSearch:
    """A search as ``Searches`` makes it, of one model; ``beam`` is None for the most probable token at each step.

    ``max_steps`` is of all rows or, [B], of each.
    ``hurried`` makes a mistake, for negative controls: a row ends when no open hypothesis would score better if it ended now.
    """

    backend: Backend
    model: Any
    source: np.ndarray
    lens: np.ndarray
    max_steps: int | np.ndarray
    beam: int | None = None
    length_penalty: float = 0.0
    coverage_penalty: float = 0.0
    prefixes: Sequence[Sequence[int]] | None = None
    n_best: int = 1
    hurried: bool = False

    def run(self) -> list[list[ScoredIds]]:
        """The best hypotheses of each row, without their ends."""
        rows, limits = range(len(self.source)), np.broadcast_to(self.max_steps, len(self.source))
        open_paths = {row: [Path(row)] for row in rows}
        ended: dict[int, list[tuple[float, Path]]] = {row: [] for row in rows}
        while alive := [path for paths in open_paths.values() for path in paths]:
            log_probs, covered = self._pass(alive)
            grown: dict[int, list[Path]] = {row: [] for row in rows}
            for path, numbers, cover in zip(alive, log_probs, covered, strict=True):
                for child in self._children(path, numbers):
                    if child.ids[-1] == self.model.config.eos_id or len(child.ids) == limits[child.row]:
                        ended[child.row].append((child.total / self._penalty(child) + cover, child))
                    else:
                        grown[child.row].append(child)
            # A sort keeps the order of what is equal: that of the better parent first, then that of the lower id.
            open_paths = {row: sorted(grown[row], key=lambda one: -one.total)[: self.beam or 1] for row in rows}
            if self.hurried:
                open_paths = {row: paths for row, paths in open_paths.items() if not self._is_over(ended[row], paths)}
        best = [sorted(ended[row], key=lambda found: -found[0])[: self.n_best] for row in rows]  # of equal ones the first
        return [[self._scored(*found) for found in kept] for kept in best]

    def _children(self, path: Path, log_probs: np.ndarray) -> list[Path]:
        """Extend by the best tokens, one more than hypotheses go on, since one may be the end; or by the forced token."""
        forced = self._forced(path)
        if len(path.ids) < len(forced):
            return [Path(path.row, (*path.ids, forced[len(path.ids)]))]
        best = sorted(range(len(log_probs)), key=lambda token: -log_probs[token])[: 1 if self.beam is None else self.beam + 1]
        paths = [Path(path.row, (*path.ids, token), path.total + float(log_probs[token])) for token in best]
        return [child for child in paths if child.total > -math.inf]

    def _forced(self, path: Path) -> Sequence[int]:
        return self.prefixes[path.row] if self.prefixes else ()

    def _penalty(self, path: Path) -> float:
        return float(((5 + len(path.ids) - len(self._forced(path))) / 6) ** self.length_penalty)

    def _is_over(self, ended: list[tuple[float, Path]], paths: list[Path]) -> bool:
        best = max((score for score, _ in ended), default=-math.inf)
        return all(best >= path.total / self._penalty(path) for path in paths)

    def _scored(self, score: float, path: Path) -> ScoredIds:
        ids = list(path.ids)
        return ScoredIds(ids[:-1] if ids[-1] == self.model.config.eos_id else ids, score, path.total)

    def _pass(self, paths: Sequence[Path]) -> tuple[np.ndarray, list[float]]:
        """[paths, V]: the log-probabilities of what may follow each; and what the coverage penalty adds to an end now."""
        config, rows = self.model.config, [path.row for path in paths]
        fed = [[*self._first(path.row), *path.ids] for path in paths]
        target = np.zeros((len(fed), max(map(len, fed))), np.int64)  # no token sees what comes after it
        for line, ids in zip(target, fed, strict=True):
            line[: len(ids)] = ids
        source, lens = (self.source[rows], self.lens[rows]) if config.has_encoder else (None, None)
        logits = self.backend.logits(self.model, source, target, lens)
        last = np.array([line[len(ids) - 1] for line, ids in zip(logits, fed, strict=True)], np.float64)
        last[:, list(config.suppress_ids)] = -np.inf
        last -= last.max(axis=1, keepdims=True)
        log_probs = last - np.log(np.exp(last).sum(axis=1, keepdims=True))
        if not self.coverage_penalty:
            return log_probs, [0.0] * len(paths)
        attention = self.backend.attention(self.model, source, target, lens)["decoder_cross"][-1].mean(axis=1)  # [paths, T, S]
        return log_probs, [self._covered(one[: len(ids)], row) for one, ids, row in zip(attention, fed, rows, strict=True)]

    def _covered(self, attention: np.ndarray, row: int) -> float:
        """Wu et al. 2016, equation 14."""
        attended = attention.sum(axis=0)[: int(self.lens[row])]
        return self.coverage_penalty * sum(math.log(min(max(float(one), LEAST), 1.0)) for one in attended)

    def _first(self, row: int) -> list[int]:
        config = self.model.config
        return [config.start_id] if config.has_encoder else self.source[row, : int(self.lens[row])].tolist()
