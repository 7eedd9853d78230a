"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import injected

from .framework import Module

_unseeded = numpy.random.default_rng()


class Dropout(Module):
    """Inverted dropout; uses the mask ``keep`` when one is set, else draws from ``generator``."""

    keep: numpy.ndarray | None = None
    generator = _unseeded

    def __init__(self, rate: float):
        check_rate("dropout", rate)
        self.p = rate

    def forward(self, X: Any) -> Any:
        if not self.training or self.p == 0.0:
            return X
        keep = self.generator.random(X.shape) >= self.p if self.keep is None else self.keep
        check_same("The dropout mask", keep.shape, "its input", X.shape)
        return X * mx.array(keep * (1.0 / (1.0 - self.p)), X.dtype)


def dropouts(module: Module) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in module.named_modules() if isinstance(sub, Dropout) and sub.p > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, Any] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, numpy.asarray)


@contextmanager
def seeded_dropout(model: Module, seed: int, step: int) -> Iterator[None]:
    """Inside, what is dropped depends on the seed and the step alone: all dropouts draw from one generator in turn."""
    layers, generator = dropouts(model).values(), numpy.random.default_rng((seed, step))
    try:
        for dropout in layers:
            dropout.generator = generator
        yield
    finally:
        for dropout in layers:
            dropout.generator = _unseeded
