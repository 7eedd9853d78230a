"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from mxnet import Context, autograd, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.shapes import check_dropout_paths, check_same

from .weights import named_blocks, to_device


class Dropout(nn.Dropout):
    """nn.Dropout, or the elements that ``keep`` says where that is set: booleans, or what ``factors`` made of them."""

    keep: np.ndarray | mnp.ndarray | None = None

    def factors(self, keep: np.ndarray, dtype: Any, context: Context) -> mnp.ndarray:
        """0, or 1 / (1 - rate) where an element is kept."""
        return to_device(np.multiply(keep, 1.0 / (1.0 - self._rate), dtype=dtype), context)

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        if self._rate == 0.0 or not autograd.is_training():
            return X
        if self.keep is None:
            return npx.dropout(X, p=self._rate)
        check_same("The dropout mask", self.keep.shape, "its input", X.shape)
        return X * (self.factors(self.keep, X.dtype, X.ctx) if isinstance(self.keep, np.ndarray) else self.keep)


@contextmanager
def injected_dropout(module: Any, masks: Mapping[str, np.ndarray] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: sub for path, sub in named_blocks(module) if isinstance(sub, Dropout) and sub._rate > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = masks[path]
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = None
