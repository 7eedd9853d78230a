"""What a model of Flax's layers starts from, and Optax's Adam, where nobody chooses."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from transformer_mb.backends.jax.recipe import Recipe


def norm_epsilon() -> float:
    return nnx.LayerNorm(1, rngs=nnx.Rngs(0)).epsilon


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """What the layers hold when they are made; the backend's own models start as zeros, which are overwritten."""
    made = type(backend).EncoderDecoder.from_config(config, param_dtype=jnp.dtype(backend.dtype), rngs=nnx.Rngs(seed))
    return backend.get_weights(made)


def use_own_adam(trainer: Any) -> None:
    """optax.adam is scale_by_adam, which the trainer uses as it is, times the learning rate: only the defaults are left."""
    chosen = {name: parameter.default for name, parameter in inspect.signature(optax.adam).parameters.items()}
    trainer.recipe = Recipe.of(replace(trainer.options, betas=(chosen["b1"], chosen["b2"]), eps=chosen["eps"]))


def set_adam_epsilon(trainer: Any, epsilon: float) -> None:
    """For the next step."""
    trainer.recipe = replace(trainer.recipe, eps=epsilon)
