"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from mxnet import autograd, gluon, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import batch_sites, drawn_masks, injected

from .weights import named_layers, to_device


class Dropout(nn.Dropout):
    """nn.Dropout; uses the mask ``keep`` when one is set: booleans, or what ``factors`` made of them."""

    keep: np.ndarray | mnp.ndarray | None = None

    def __init__(self, rate: float):
        check_rate("dropout", rate)
        super().__init__(rate)

    def factors(self, into: np.ndarray) -> None:
        """Write 0, or 1 / (1 - rate) where an element is kept, for all elements in a row."""
        np.multiply(self.keep.reshape(-1), 1.0 / (1.0 - self._rate), out=into, dtype=into.dtype)

    def forward(self, X: mnp.ndarray) -> mnp.ndarray:
        if self._rate == 0.0 or not autograd.is_training():
            return X
        if self.keep is None:
            return npx.dropout(X, p=self._rate)
        check_same("The dropout mask", self.keep.shape, "its input", X.shape)
        if isinstance(self.keep, mnp.ndarray):
            return X * self.keep
        factors = np.empty(X.shape, X.dtype)
        self.factors(factors.reshape(-1))
        return X * to_device(factors, X.ctx)


def dropouts(module: Any) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in named_layers(module) if isinstance(sub, Dropout) and sub._rate > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, Any] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, lambda mask: mask)


def seeded_dropout(model: gluon.Block, seed: int, step: int, batch: Any) -> AbstractContextManager[None]:
    """Inside, what is dropped depends on the seed and the step alone.

    By NumPy: MXNet's one random state is the whole process's, cannot be put back, and takes a millisecond to seed.
    """
    return injected_dropout(model, drawn_masks(batch_sites(model.config, batch), seed, step))
