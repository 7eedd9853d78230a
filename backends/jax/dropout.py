"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.shapes import check_dropout_paths, check_same

from .weights import named_modules


class Dropout(nnx.Dropout):
    """nnx.Dropout, or the elements that ``keep`` says where that is set."""

    def __init__(self, rate: float, *, rngs: nnx.Rngs | None = None):
        # Nothing to draw at rate 0: no random stream among the module's variables either.
        super().__init__(rate, rngs=(rngs or nnx.Rngs(0)) if rate > 0.0 else None)
        self.keep: Array | None = nnx.data(None)

    def __call__(self, X: Array) -> Array:
        if self.deterministic or self.rate == 0.0:
            return X
        keep = self.keep
        if keep is None:
            # A float32 probability draws the same mask whether jax_enable_x64 is set or not; nnx's own does not.
            keep = jax.random.bernoulli(self.rngs(), np.float32(1.0 - self.rate), X.shape)
        check_same("The dropout mask", keep.shape, "its input", X.shape)
        return jnp.where(keep, X * (1.0 / (1.0 - self.rate)), 0.0)


@contextmanager
def injected_dropout(module: nnx.Module, masks: Mapping[str, Any] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: sub for path, sub in named_modules(module) if isinstance(sub, Dropout) and sub.rate > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = nnx.data(jnp.asarray(masks[path]))
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = nnx.data(None)
