"""optax's trace is the contract's momentum, its state Adam's; learning rate and decay are applied by the trainer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from transformer_mb.trainer import TrainerOptions

from .shortcuts.compiled import at_least_float32


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Recipe:
    """Hold what an update needs of TrainerOptions. Where a number is None its part of the update is not compiled.

    Numbers are Python's, as constants would be: each gets the dtype of the array that it meets, whether JAX knows float64
    or not. So what float32 would take from 1 - beta is made here.

    Args:
        betas: of Adam's two moments. others: 1 - beta. logarithms: of beta.
    """

    optimizer: str = field(metadata={"static": True})
    learning_rate: float
    betas: tuple[float, float]
    others: tuple[float, float]
    logarithms: tuple[float, float]
    eps: float
    momentum: float
    weight_decay: float | None
    clip_norm: float | None

    @classmethod
    def of(cls, options: TrainerOptions) -> Recipe:
        first, second = options.betas
        return cls(
            options.optimizer,
            options.learning_rate,
            options.betas,
            others=(1.0 - first, 1.0 - second),
            logarithms=(_logarithm(first), _logarithm(second)),
            eps=options.eps,
            momentum=options.momentum,
            weight_decay=options.weight_decay or None,
            clip_norm=options.clip_norm,
        )


def _logarithm(beta: float) -> float:
    return math.log(beta) if beta else -math.inf


def build_optimizer(parameters: Mapping[str, Array], options: Recipe) -> tuple[optax.GradientTransformation, Any]:
    """The transformation and its state for parameters by name."""
    momentum = options.optimizer == "sgd"
    transformation = optax.trace(options.momentum) if momentum else _scale_by_adam(options)
    return transformation, transformation.init(at_least_float32(parameters))


def _scale_by_adam(recipe: Recipe) -> optax.GradientTransformation:
    """optax's own, but for the corrections of its moments, 1 - beta^t.

    Taken in float32, 1 - 0.999 is off by 1.3e-5 of itself, and every first step by half of that.
    """
    (first, second), (other_first, other_second) = recipe.betas, recipe.others

    def update(gradients: Any, state: Any, parameters: Any = None) -> tuple[Any, optax.ScaleByAdamState]:
        mu = jax.tree.map(lambda m, gradient: first * m + other_first * gradient, state.mu, gradients)
        nu = jax.tree.map(lambda v, gradient: second * v + other_second * jnp.square(gradient), state.nu, gradients)
        count = optax.safe_increment(state.count)
        of_mu, of_nu = (-jnp.expm1(count * logarithm) for logarithm in recipe.logarithms)
        updates = jax.tree.map(lambda m, v: m / of_mu / (jnp.sqrt(v / of_nu) + recipe.eps), mu, nu)
        return updates, optax.ScaleByAdamState(count, mu, nu)

    return optax.GradientTransformation(optax.scale_by_adam().init, update)


def clip_gradients(gradients: Mapping[str, Array], clip_norm: float | Array) -> dict[str, Array]:
    """All gradients scaled by min(1, clip_norm / their common norm)."""
    norm = jnp.sqrt(sum(jnp.square(gradient).sum() for gradient in gradients.values()))
    scale = jnp.minimum(1.0, clip_norm / norm)
    return jax.tree.map(lambda gradient: gradient * scale, dict(gradients))
