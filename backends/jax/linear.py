"""Linear layers, and a vector for every row, with gradients that XLA computes fast on a CPU too."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn.dtypes import promote_dtype
from jax import Array

from .weights import named_layers

# Up to FEW_ROWS rows a product with a transposed table takes XLA on a CPU less time with the table as its left factor, where a
# barrier keeps it: of 32 rows an eighth, with [8000, 512]. It lays a right factor out anew, which more rows make up for.
FEW_ROWS = 256


class _Differentiation(threading.local):
    """The way in which what is traced is differentiated: ``reverse`` says in reverse mode alone."""

    reverse = False


_differentiation = _Differentiation()


@contextmanager
def reverse_mode() -> Iterator[None]:
    """Enclose a training step: outside of it, layers can be differentiated in forward mode too."""
    before, _differentiation.reverse = _differentiation.reverse, True
    try:
        yield
    finally:
        _differentiation.reverse = before


def spread(vector: Array, like: Array) -> Array:
    """A vector as broadcast to ``like``, whose last axes it has."""
    return _spread(vector, like) if _differentiation.reverse else broadcast(vector, like)


def broadcast(vector: Array, like: Array) -> Array:
    """Broadcast, with a gradient summed in at least float32: JAX' own adds up all rows in two bytes, and loses most of many."""
    wide = vector.astype(jnp.promote_types(vector.dtype, jnp.float32))
    return jnp.broadcast_to(wide, like.shape).astype(vector.dtype)


@jax.custom_vjp
def _spread(vector: Array, like: Array) -> Array:
    """The barrier in its gradient has XLA sum up rows that it has computed before.

    It would else compute each number within the sum, column after column: 65 ms on a CPU for [1024, 2048] behind an
    activation with dropout, and 1 this way.
    """
    return jnp.broadcast_to(vector, like.shape)


def _spread_forward(vector: Array, like: Array) -> tuple[Array, Array]:
    return _spread(vector, like), vector


def _spread_backward(vector: Array, gradient: Array) -> tuple[Array, None]:
    rows = jax.lax.optimization_barrier(gradient.reshape(-1, vector.size))
    return rows.sum(axis=0).reshape(vector.shape), None


_spread.defvjp(_spread_forward, _spread_backward)


def batched_product(A: Array, B: Array) -> Array:
    """A @ B of the last two axes, in at least float32."""
    if _differentiation.reverse and A.dtype == B.dtype and A.dtype.itemsize == 2:
        return _two_byte_product(A, B)
    return jnp.matmul(A, B, preferred_element_type=jnp.promote_types(A.dtype, jnp.float32))


@jax.custom_vjp
def _two_byte_product(A: Array, B: Array) -> Array:
    """Multiply; the gradient is rounded to two bytes before it is multiplied, as a linear layer's is and PyTorch's own.

    It comes in float32, in which JAX would multiply it with what it casts for that: on a GPU in ten times the time.
    """
    return jnp.matmul(A, B, preferred_element_type=jnp.float32)


def _two_byte_forward(A: Array, B: Array) -> tuple[Array, tuple[Array, Array]]:
    return _two_byte_product(A, B), (A, B)


def _two_byte_backward(factors: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    A, B = factors
    gradient = gradient.astype(A.dtype)
    of_A = jnp.matmul(gradient, B.swapaxes(-2, -1), preferred_element_type=jnp.float32)
    of_B = jnp.matmul(A.swapaxes(-2, -1), gradient, preferred_element_type=jnp.float32)
    return of_A.astype(A.dtype), of_B.astype(B.dtype)


_two_byte_product.defvjp(_two_byte_forward, _two_byte_backward)


class Linear(nnx.Linear):
    """An nnx.Linear on rows [N, in]: XLA on a CPU first transposes sums over two axes, in three times the product's time."""

    def __call__(self, inputs: Array) -> Array:
        shape = inputs.shape[:-1]
        rows = inputs.reshape(math.prod(shape), self.in_features)
        bias = None if self.bias is None else self.bias[...]
        rows, kernel, bias = self.promote_dtype((rows, self.kernel[...], bias), dtype=self.dtype)
        Y = rows @ kernel
        Y = Y if bias is None else Y + spread(bias, Y)
        return Y.reshape(*shape, self.out_features)


class TiedLinear(nnx.Module):
    """An output projection by the embedding table: nnx.Linear's kernel is [D, V], and cannot be the table [V, D]."""

    def __init__(self, embedding: nnx.Embed, bias: nnx.Param | None, padding_id: int | None):
        self.embedding = embedding
        self.bias = bias
        self.padding_id = padding_id
        self.dtype: Any = None  # of the computation, as in nnx.Linear

    def __call__(self, X: Array) -> Array:
        table = self.embedding.embedding[...]
        if self.padding_id is not None:
            # The embedding keeps its own gradient out of the pad row, this the projection's.
            pad = jnp.arange(len(table))[:, None] == self.padding_id
            table = jnp.where(pad, jax.lax.stop_gradient(table), table)
        bias = None if self.bias is None else self.bias[...]
        rows, table, bias = promote_dtype((X.reshape(-1, table.shape[1]), table, bias), dtype=self.dtype)
        number = rows.shape[0]
        if number == 1:
            # XLA on a CPU would add the bias within the product, which then reads the table column after column: 30 ms, not 1.
            logits = jax.lax.optimization_barrier(rows @ table.T)
        elif isinstance(number, int) and number <= FEW_ROWS:
            logits = jax.lax.optimization_barrier(table @ rows.T).T
        else:
            logits = rows @ table.T
        logits = logits if bias is None else logits + spread(bias, logits)
        return logits.reshape(*X.shape[:-1], len(table))


def round_products(model: nnx.Module, dtype: Any) -> None:
    """Have a model's linear layers compute in ``dtype``, and attention with what they give, whose scores come in float32.

    Its parameters stay as they are.
    """
    for _, layer in named_layers(model):
        if isinstance(layer, Linear | TiedLinear):
            layer.dtype = dtype
