"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import Sites, batch_sites, injected

from .weights import named_layers


class Dropout(nnx.Dropout):
    """nnx.Dropout; uses the mask ``keep`` when one is set."""

    def __init__(self, rate: float, *, rngs: nnx.Rngs | None = None):
        check_rate("dropout", rate)
        # Nothing to draw at rate 0: no random stream among the module's variables either.
        super().__init__(rate, rngs=(rngs or nnx.Rngs(0)) if rate > 0.0 else None)
        self.keep: Array | None = nnx.data(None)

    def __call__(self, X: Array) -> Array:  # type: ignore[override] # mode and streams are the module's
        if self.deterministic or self.rate == 0.0:
            return X
        keep = self.keep
        if keep is None:
            keep = _draw(self.rngs(), {"": (self.rate, X.shape)})[""]
        check_same("The dropout mask", keep.shape, "its input", X.shape)
        return jnp.where(keep, X * (1.0 / (1.0 - self.rate)), 0.0)


def _draw(key: Array, sites: Sites) -> dict[str, Array]:
    """Keep-masks by path for sites (rate, shape), from one call of the generator.

    An element takes 16 random bits, so that the rate holds to the nearest 1/65536; nnx.Dropout takes 32, or 64
    with jax_enable_x64, which would also change the mask. Drawn for each site alone and with 32 bits, they were
    a quarter of a small model's training step on a CPU.
    """
    sizes = [math.prod(shape) for _, shape in sites.values()]
    words = jax.random.bits(key, ((sum(sizes) + 1) // 2,), jnp.uint32)
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1).astype(jnp.uint32)
    masks = {}
    for end, size, (path, (rate, shape)) in zip(accumulate(sizes), sizes, sites.items(), strict=True):
        masks[path] = halves[end - size : end].reshape(shape) < round((1.0 - rate) * 2**16)
    return masks


def dropouts(module: nnx.Module) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in named_layers(module) if isinstance(sub, Dropout) and sub.rate > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, Any] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, lambda mask: nnx.data(jnp.asarray(mask)), nnx.data(None))


def seeded_dropout(model: Any, seed: Array, step: int | Array, batch: Any) -> AbstractContextManager[None]:
    """Inside, what is dropped depends on the seed's key and the step alone; the user's random streams stay as they were."""
    return injected_dropout(model, _draw(jax.random.fold_in(seed, step), batch_sites(model.config, batch)))
