"""Flax's layers (nnx), and jax.nn's functions for attention, softmax and activations, which nnx passes on."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from ..calls import Table
from .arrays import called, in_float64

NO_LAYER = "flax nnx has the function of jax.nn, and no layer."
NO_PADDING = "flax.nnx.Embed has no padding row."


def attention(queries: Any, keys: Any, values: Any, mask: Any = None, causal: bool = False) -> jax.Array:
    attend = jax.jit(jax.nn.dot_product_attention, static_argnames="is_causal")
    return attend(queries, keys, values, mask=None if mask is None else mask[None, None], is_causal=causal)


def attention_gradients(queries: jax.Array, keys: jax.Array, values: jax.Array, mask: jax.Array) -> tuple[jax.Array, ...]:
    def total(queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
        return jax.nn.dot_product_attention(queries, keys, values, mask=mask[None, None]).sum()

    return jax.jit(jax.grad(total, argnums=(0, 1, 2)))(queries, keys, values)


def attention_with_dropout(queries: jax.Array, keys: jax.Array, values: jax.Array, rate: float) -> jax.Array:
    class Model(nnx.Module):
        def __call__(self, queries: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
            return nnx.dot_product_attention(queries, keys, values, dropout_rate=rate, dropout_rng=jax.random.key(0))

    model = Model()
    model.eval()
    call: Any = nnx.jit(lambda model, *arrays: model(*arrays))
    return call(model, queries, keys, values)


def _identity_attention(size: int, heads: int, rate: float) -> nnx.MultiHeadAttention:
    """Make a layer whose projections are the identity."""

    def identity(key: jax.Array, shape: tuple[int, int], dtype: Any) -> jax.Array:
        return jnp.eye(*shape, dtype=dtype)

    return nnx.MultiHeadAttention(
        heads, size, dropout_rate=rate, use_bias=False, decode=False, kernel_init=identity, rngs=nnx.Rngs(0)
    )


def multi_head_attention(
    *arrays: jax.Array, heads: int = 1, rate: float = 0.0, training: bool = False, weights: bool = False
) -> jax.Array:
    queries, keys, values, *mask = arrays

    @nnx.jit
    def call(layer: nnx.MultiHeadAttention, *arrays: jax.Array) -> Any:
        given = mask[0][None, None] if mask else None
        return layer(*arrays, mask=given, deterministic=not training, sow_weights=weights)

    return call(_identity_attention(queries.shape[-1], heads, rate), queries, keys, values)


def linear(X: jax.Array, weight: jax.Array) -> jax.Array:
    return nnx.Linear(*weight.shape, use_bias=False, kernel_init=lambda *_: weight, rngs=nnx.Rngs(0))(X)


def batch_norm(X: jax.Array, **options: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the output, running mean and running variance of a new layer in training mode."""
    layer = nnx.BatchNorm(X.shape[-1], **options, rngs=nnx.Rngs(0))
    layer.train()
    return layer(X), layer.mean.value, layer.var.value


TABLES: dict[str, Table] = {
    "attention": called(
        attention_gradients=attention_gradients,
        attention_with_dropout=attention_with_dropout,
        multi_head_attention=multi_head_attention,
        fresh_multi_head_attention=lambda Q, K, V, rate: _identity_attention(Q.shape[-1], 1, rate)(Q, K, V),
        encoder="JAX and Flax have no layer for a whole encoder.",
    )
    | {"attention": in_float64(attention)},
    "softmax": called(
        softmax=jax.nn.softmax,
        masked_softmax=lambda scores, lengths: jax.nn.softmax(scores, where=jnp.arange(scores.shape[-1]) < lengths[..., None]),
        linear=linear,
    ),
    "norms": called(
        layer_norm=lambda X: nnx.LayerNorm(X.shape[-1], rngs=nnx.Rngs(0))(X),
        layer_norm_of=lambda X, number: nnx.LayerNorm(number, rngs=nnx.Rngs(0))(X),
        rms_norm=lambda X: nnx.RMSNorm(X.shape[-1], param_dtype=X.dtype, rngs=nnx.Rngs(0))(X),
        variance=jnp.var,
        deviation=jnp.std,
    )
    | {"layer_norm_cast": in_float64(lambda X: nnx.LayerNorm(X.shape[-1], param_dtype=X.dtype, rngs=nnx.Rngs(0))(X))},
    "batch_norms": called(
        batch_norm=lambda X: batch_norm(X)[0],
        batch_norm_called=lambda X: nnx.BatchNorm(X.shape[-1], rngs=nnx.Rngs(0))(X),
        batch_norm_state=lambda X, **momentum: batch_norm(X, **momentum)[1:],
        batch_norm_forward=lambda X: batch_norm(X)[1],
    ),
    "activations": called(
        gelu=jax.nn.gelu,
        gelu_layer=NO_LAYER,
        leaky_relu=jax.nn.leaky_relu,
        leaky_relu_layer=NO_LAYER,
        prelu_layer=lambda X: nnx.PReLU()(X),
        hard_sigmoid=jax.nn.hard_sigmoid,
        elu=jax.nn.elu,
        relu=jax.nn.relu,
    )
    | {"softplus": in_float64(jax.nn.softplus)},
    "embeddings": called(
        embed=lambda ids, table: nnx.Embed(*table.shape, embedding_init=lambda *_: table, rngs=nnx.Rngs(0))(ids),
        embed_with_padding=NO_PADDING,
        fresh_padding_row=NO_PADDING,
    ),
}
