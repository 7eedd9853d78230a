"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.shapes import check_dropout_paths, check_same


class Dropout(nn.Dropout):
    """nn.Dropout, or the elements that ``keep`` says where that is set."""

    # A NumPy array: a tensor would become a buffer of the layer, which this class attribute hides.
    keep: np.ndarray | None = None

    def forward(self, X: Tensor) -> Tensor:
        if not self.training:
            return X
        if self.keep is None:
            return super().forward(X)
        check_same("The dropout mask", self.keep.shape, "its input", X.shape)
        return X * paddle.to_tensor(self.keep, X.dtype, X.place) * (1.0 / (1.0 - self.p))


@contextmanager
def injected_dropout(module: nn.Layer, masks: Mapping[str, np.ndarray] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: sub for path, sub in module.named_sublayers(include_self=True) if isinstance(sub, Dropout) and sub.p > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = masks[path]
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = None
