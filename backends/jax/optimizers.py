"""optax's trace is the contract's momentum, its state Adam's; learning rate and decay are applied by the trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array

from .shortcuts.compiled import at_least_float32
from .shortcuts.recipe import Recipe


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
