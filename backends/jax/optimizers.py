"""optax's scale_by_adam is the contract's formula, its trace likewise; learning rate and decay are applied by the trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from transformer_mb.trainer import TrainerOptions

from .compiled import at_least_float32


def build_optimizer(parameters: Mapping[str, Array], options: TrainerOptions) -> tuple[optax.GradientTransformation, Any]:
    """The transformation and its state for parameters by name."""
    if options.optimizer == "sgd":
        transformation = optax.trace(options.momentum)
    else:
        transformation = optax.scale_by_adam(*options.betas, options.eps)
    return transformation, transformation.init(at_least_float32(parameters))


def clip_gradients(gradients: Mapping[str, Array], clip_norm: float) -> dict[str, Array]:
    """All gradients scaled by min(1, clip_norm / their common norm)."""
    norm = jnp.sqrt(sum(jnp.square(gradient).sum() for gradient in gradients.values()))
    scale = jnp.minimum(1.0, clip_norm / norm)
    return jax.tree.map(lambda gradient: gradient * scale, dict(gradients))
