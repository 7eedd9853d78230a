"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from transformer_mb.shapes import check_dropout_paths, check_same


class Dropout(nn.Dropout):
    """nn.Dropout, or the elements that ``keep`` says where that is set."""

    keep: Tensor | None = None

    def forward(self, X: Tensor) -> Tensor:
        if not self.training or self.p == 0.0 or (self.keep is None and X.device.type != "cpu"):
            return super().forward(X)
        if self.keep is None:
            # The CPU draws integers twice as fast as the Bernoulli numbers of torch's own dropout.
            kept = torch.empty(X.shape, dtype=torch.int32).random_() >= int(self.p * 2**31)
        else:
            check_same("The dropout mask", self.keep.shape, "its input", X.shape)
            kept = self.keep.to(X.device)
        return X * kept.to(X.dtype).mul_(1.0 / (1.0 - self.p))


@contextmanager
def injected_dropout(module: nn.Module, masks: Mapping[str, np.ndarray] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: sub for path, sub in module.named_modules() if isinstance(sub, Dropout) and sub.p > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = torch.as_tensor(masks[path])
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = None
