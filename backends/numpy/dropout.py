"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod

import numpy as np

from transformer_mb.shapes import check_dropout_paths, check_same

from .framework import Layer

_unseeded = np.random.SFC64()


class Dropout(Layer):
    """Inverted dropout, or the elements that ``keep`` says where that is set; a trainer seeds ``bits``."""

    keep: np.ndarray | None = None
    bits = _unseeded

    def __init__(self, p: float):
        self.p = p

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
        size = prod(shape)
        # Raw bits are four times as fast as random().
        bits = self.bits.random_raw((size + 1) // 2).view(np.uint32)[:size]
        return (bits < np.uint32((1.0 - self.p) * 2.0**32)).reshape(shape)


@contextmanager
def injected_dropout(module: Layer, masks: Mapping[str, np.ndarray] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: layer for path, layer in module.named_layers() if isinstance(layer, Dropout) and layer.p > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = np.asarray(masks[path])
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = None
