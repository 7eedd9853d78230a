"""Optax, JAX's random numbers and initializers, and the parts of a training that Flax and Optax have of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from transformer_mb.backends.jax.optimizers import Recipe

from ..calls import Table
from .arrays import called


def stepped(optimizer: Callable[..., optax.GradientTransformation]) -> Callable[..., np.ndarray]:
    """Return the weights after each step, [steps, weights], of an optimizer given settings, and rates by step."""

    def run(W: np.ndarray, gradients: Sequence[np.ndarray], *settings: Any, rates: Sequence[float] = ()) -> np.ndarray:
        if rates:  # optax' way to another learning rate is a schedule
            each = jnp.asarray(rates)
            settings = (lambda step: each[step], *settings[1:])
        chosen, weights = optimizer(*settings), jnp.asarray(W)
        state = chosen.init(weights)
        after = []
        for gradient in gradients:
            updates, state = chosen.update(jnp.asarray(gradient), state, weights)
            weights = optax.apply_updates(weights, updates)
            after.append(np.asarray(weights))
        return np.stack(after)

    return run


def clip_by_global_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """Clip by the global norm, the only clipping by norm that optax has for whole gradients."""
    clip = optax.clip_by_global_norm(norm)
    given = [jnp.asarray(gradient) for gradient in gradients]
    return [np.asarray(gradient) for gradient in clip.update(given, clip.init(given))[0]]


def dense(inputs: int, outputs: int, seed: int) -> tuple[Any, Any]:
    layer = nnx.Linear(inputs, outputs, rngs=nnx.Rngs(seed))
    return layer.kernel, layer.bias


def uniform(count: int, seed: int) -> jax.Array:
    return jax.random.uniform(jax.random.key(seed), (count,))


def dropout(X: jax.Array, rate: float, training: bool, seed: int) -> jax.Array:
    return nnx.Dropout(rate, deterministic=not training, rngs=nnx.Rngs(seed))(X)


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """Return the weights that Flax's layers start with; the backend's own models start as zeros and are overwritten."""
    made = type(backend).EncoderDecoder.from_config(config, param_dtype=jnp.dtype(backend.dtype), rngs=nnx.Rngs(seed))
    return backend.get_weights(made)


def use_own_adam(trainer: Any) -> None:
    """Give the trainer optax.adam's defaults: optax.adam is scale_by_adam times the learning rate, as in the trainer."""
    chosen = {name: parameter.default for name, parameter in inspect.signature(optax.adam).parameters.items()}
    trainer.recipe = Recipe.of(replace(trainer.options, betas=(chosen["b1"], chosen["b2"]), eps=chosen["eps"]))


TABLES: dict[str, Table] = {
    "optimizers": {
        "adam": stepped(optax.adam),
        "adam_by_default": "optax.adam must be told a learning rate.",
        "sgd_by_default": "optax.sgd must be told a learning rate.",
        "adam_with_weight_decay": "optax.adam takes no weight decay: optax.adamw is for that.",
        "adamw": stepped(optax.adamw),
        "rmsprop": stepped(optax.rmsprop),
        "adagrad": stepped(optax.adagrad),
        "sgd_with_momentum": stepped(optax.sgd),
        "clip_by_norm": clip_by_global_norm,
        "clip_by_global_norm": clip_by_global_norm,
    },
    "random_numbers": called(
        dense=dense,
        embedding=lambda vocabulary, size, seed: nnx.Embed(vocabulary, size, rngs=nnx.Rngs(seed)).embedding,
        truncated_normal=lambda std, shape, seed: jax.nn.initializers.truncated_normal(std)(jax.random.key(seed), shape),
        initialized_twice="JAX's initializers have no state: every call is given its key.",
        uniform=uniform,
        uniform_twice=lambda count, seed: (uniform(count, seed), uniform(count, seed)),
        normal=lambda count, seed: jax.random.normal(jax.random.key(seed), (count,)),
        dropout=dropout,
    ),
    "own_parts": {
        "norm_epsilon": lambda: nnx.LayerNorm(1, rngs=nnx.Rngs(0)).epsilon,
        "initial_weights": initial_weights,
        "use_own_adam": use_own_adam,
    },
}
