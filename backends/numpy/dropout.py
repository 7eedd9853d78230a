"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import injected

from .framework import Layer

_unseeded = np.random.Generator(np.random.SFC64())


class Dropout(Layer):
    """Inverted dropout; uses the mask ``keep`` when one is set, else draws from ``generator``."""

    keep: np.ndarray | None = None
    generator = _unseeded

    def __init__(self, rate: float):
        check_rate("dropout", rate)
        self.p = rate

    def forward(self, X: np.ndarray) -> np.ndarray:
        if not self.training or (self.p == 0.0 and self.keep is None):
            self.remember(None)
            return X
        scales = self._kept(X.shape).astype(X.dtype)
        scales *= 1.0 / (1.0 - self.p)
        self.remember(scales)
        return X * scales

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        (scales,) = self.recall()
        return gradient if scales is None else gradient * scales

    def _kept(self, shape: tuple[int, ...]) -> np.ndarray:
        if self.keep is not None:
            check_same("The dropout mask", self.keep.shape, "its input", shape)
            return self.keep
        # Whole numbers are drawn faster than those between 0 and 1.
        return self.generator.integers(2**32, size=shape, dtype=np.uint32) < np.uint32((1.0 - self.p) * 2.0**32)


def dropouts(module: Layer) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in module.named_layers() if isinstance(sub, Dropout) and sub.p > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, np.ndarray] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, np.asarray)


@contextmanager
def seeded_dropout(model: Layer, seed: int, step: int, batch: Any) -> Iterator[None]:
    """Inside, what is dropped depends on the seed and the step alone: all dropouts draw from one generator in turn."""
    layers = dropouts(model).values()
    generator = np.random.Generator(np.random.SFC64((seed % 2**64, step)))
    try:
        for dropout in layers:
            dropout.generator = generator
        yield
    finally:
        for dropout in layers:
            dropout.generator = _unseeded
