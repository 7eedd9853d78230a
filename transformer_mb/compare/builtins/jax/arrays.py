"""jax.numpy, with 32 bits as JAX has them by default: devices, dtypes, special numbers, indices, and gradients at kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from ..calls import Table, calls, follows_array, follows_tensor

# jax.experimental has none in 0.10, jax itself none in 0.7.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
called = calls(jnp.asarray, np.asarray)


def in_float64(function: Callable[..., jax.Array]) -> Callable[..., np.ndarray]:
    """Make a function of NumPy arrays that computes in float64 where they are float64; JAX itself uses 32 bits."""

    def call(X: np.ndarray, *arguments: Any, **options: Any) -> np.ndarray:
        with enable_x64(X.dtype == np.float64):
            return np.asarray(function(X, *arguments, **options))

    return call


def gradient(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Return the gradient of the sum of a function's output by its first argument."""
    return jax.grad(lambda *arguments: function(*arguments).sum())


def _default_device() -> str:
    first = jax.local_devices()[0]
    return "cpu" if first.platform == "cpu" else f"{first.platform}:{first.id}"


def _use_device(device: str) -> None:
    platform, _, number = device.partition(":")
    found = {one.id: one for one in jax.local_devices(backend=platform)}
    jax.config.update("jax_default_device", found[int(number or 0)])


TABLES: dict[str, Table] = {
    "device": {"default": _default_device, "use": _use_device},
    "numbers": called(
        returned=jnp.asarray,
        from_python=jnp.asarray,
        arange=jnp.arange,
        add=operator.add,
        add_number=operator.add,
        divide=operator.truediv,
        total=jnp.sum,
        mean=jnp.mean,
        matmul=lambda X, Y, dtype: (X.astype(dtype) @ Y.astype(dtype)).astype("float32"),
    )
    | {
        "follows_array": follows_array(jnp.asarray),
        "follows_tensor": follows_tensor(jnp.asarray, np.asarray),
    },
    "special_numbers": called(
        multiply=operator.mul,
        floor_divide=operator.floordiv,
        argmax=jnp.argmax,
        whole=jnp.round,
        cast=lambda X, dtype: X.astype(dtype),
    ),
    "indices": called(
        take=lambda X, ids: jnp.take(X, ids, axis=0),
        index=lambda X, ids: X[ids],
        argmax=lambda X: jnp.argmax(X, axis=-1),
        maximum=lambda X: jnp.max(X, axis=-1),
        top_k=lambda X, k: jax.lax.top_k(X, k)[1],
        argsort=jnp.argsort,
        one_hot=jax.nn.one_hot,
    ),
    "kinks": called(
        relu=gradient(jax.nn.relu),
        leaky_relu=gradient(jax.nn.leaky_relu),
        absolute=gradient(jnp.abs),
        largest=gradient(jnp.max),
        largest_along=gradient(lambda x: jnp.max(x, -1)),
        larger=gradient(jnp.maximum),
        clip=gradient(jnp.clip),
        norm=gradient(jnp.linalg.norm),
        deviation=gradient(jnp.std),
        product=gradient(jnp.prod),
        power=gradient(operator.pow),
        logsumexp=gradient(lambda x: jax.nn.logsumexp(x, -1)),
    ),
}
