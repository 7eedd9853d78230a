"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions

from .dropout import Dropout
from .given import attention_mask, features, floats, lengths
from .linear import Linear, batched_product
from .rotary import RotaryEncoding

# On a CPU, XLA calls a matrix routine once a head. Below about this many multiplications a fused sum is two to three
# times as fast, forward and backward (measured with 256 heads; the routine wins from 4096 on). It writes the product of
# a single row itself, in a sixth to a quarter of the sum's time (with 256 heads of 64 numbers and 32 keys).
SMALL_PRODUCT = 2048


def sequence_mask(X: Array, valid_len: Array, value: float = 0) -> Array:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    outside = jnp.arange(X.shape[1]) >= valid_len[:, None]
    return jnp.where(outside.reshape(outside.shape + (1,) * (X.ndim - 2)), jnp.asarray(value, X.dtype), X)


def masked_softmax(X: Array, valid_lens: Array | None = None, mask: Array | None = None) -> Array:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X.shape, X, valid_lens, mask, causal=False))


def transpose_qkv(X: Array, num_heads: int) -> Array:
    check_unparted(X, num_heads)
    return X.reshape(*X.shape[:-1], num_heads, X.shape[-1] // num_heads).swapaxes(1, 2)  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: Array, num_heads: int) -> Array:
    check_parted(X, num_heads)
    X = X.reshape(-1, num_heads, *X.shape[-2:]).swapaxes(1, 2)
    return X.reshape(*X.shape[:2], num_heads * X.shape[-1])  # [B, H, T, D/H] -> [B, T, D]


def _softmax_where(scores: Array, allowed: Array | None) -> Array:
    dtype = scores.dtype
    scores = scores.astype(jnp.promote_types(dtype, jnp.float32))  # a sum of 512 weights has no digits in two bytes
    if allowed is None:
        return jax.nn.softmax(scores, axis=-1).astype(dtype)
    # The lowest finite number, not -inf: a row without any key would give NaN and poison the gradient.
    weights = jax.nn.softmax(jnp.where(allowed, scores, jnp.finfo(scores.dtype).min), axis=-1)
    return jnp.where(allowed, weights, 0.0).astype(dtype)


def length_mask(valid_lens: Array, shape: Sequence[int], like: Array) -> Array:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape."""
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S, like)
    return jnp.arange(S) < lens.reshape(B, *(1,) * (len(shape) - 3), -1, 1)  # [B, (1,) 1 or T, S]


def _allowed(shape: Sequence[int], like: Array, valid_lens: Array | None, mask: Array | None, causal: bool) -> Array | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked."""
    T, S = shape[-2:]
    if mask is not None:
        mask = attention_mask(mask, shape, like)
    if valid_lens is not None:
        within = length_mask(valid_lens, shape, like)
        mask = within if mask is None else mask & within
    if causal and T != 1:
        past = jnp.tri(T, S, S - T, dtype=bool)
        mask = past if mask is None else mask & past
    return mask


def _product(A: Array, B: Array) -> Array:
    """A @ B for every head, in at least float32."""
    dtype = jnp.promote_types(A.dtype, jnp.float32)
    sizes = (A.shape[-2], A.shape[-1], B.shape[-1])  # no numbers where jax.export leaves them open
    if sizes[0] != 1 and all(isinstance(size, int) for size in sizes) and math.prod(sizes) <= SMALL_PRODUCT:
        return (A.astype(dtype)[..., None] * B.astype(dtype)[..., None, :, :]).sum(axis=-2)
    return batched_product(A, B)


def _scores(queries: Array, keys: Array) -> Array:
    """queries @ keys.T for every head; of one row as the keys lie, for to transpose them takes longer than the product."""
    if queries.shape[-2] != 1:
        return _product(queries, keys.swapaxes(-2, -1))
    dtype = jnp.promote_types(queries.dtype, jnp.float32)
    return jnp.matmul(keys, queries.swapaxes(-2, -1), preferred_element_type=dtype).swapaxes(-2, -1)


def _grouped(X: Array, keys: Array) -> Array:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.ndim == 3 or X.shape[1] == keys.shape[1]:
        return X
    return X.reshape(X.shape[0], keys.shape[1], X.shape[1] // keys.shape[1] * X.shape[2], X.shape[3])


class DotProductAttention(Called, nnx.Module):
    """Composed, and fused by XLA: jax.nn.dot_product_attention casts float64 to float32 and has no dropout."""

    def __init__(self, dropout: float, *, scaled: bool = True, rngs: nnx.Rngs | None = None):
        self.dropout = Dropout(dropout, rngs=rngs)
        self.scaled = scaled
        self.attention_weights: Array | None = nnx.data(None)

    def _factor(self, width: int) -> float:
        """Return what the products of queries and keys are multiplied by."""
        return 1.0 / math.sqrt(width) if self.scaled else 1.0

    def __call__(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        mask: Array | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: Array | None = None,
    ) -> Array:
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        allowed = _allowed((*queries.shape[:-1], keys.shape[-2]), queries, valid_lens, mask, causal)
        scores = _scores(_grouped(queries, keys), keys).reshape(*queries.shape[:-1], keys.shape[-2])
        scores = scores * self._factor(queries.shape[-1])
        scores = scores if bias is None else scores + bias
        weights = _softmax_where(scores, allowed).astype(values.dtype)
        if need_weights or self.attention_weights is not None:
            # Assigned only when it changes: under jax.grad or jax.jit a module from outside must not be.
            self.attention_weights = nnx.data(weights if need_weights else None)
        output = _product(_grouped(self.dropout(weights), values), values).astype(values.dtype)
        return output.reshape(*queries.shape[:-1], values.shape[-1])


class MultiHeadAttention(WeightsOfHeads, Called, nnx.Module):
    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **options: Unpack[HeadOptions],
    ):
        check_sizes(key_size=key_size, query_size=query_size, value_size=value_size)
        chosen = Chosen(HeadOptions, options, dropout)
        width = check_heads(num_hiddens, num_heads, head_size=chosen.head_size)
        rngs = rngs or nnx.Rngs(0)
        linear = partial(Linear, use_bias=use_bias, param_dtype=param_dtype, rngs=rngs)
        self.num_heads, self.num_kv_heads = num_heads, check_kv_heads(num_heads, chosen.num_kv_heads)
        inner, few = width * num_heads, width * self.num_kv_heads
        self.attention = DotProductAttention(dropout, scaled=chosen.attention_scale, rngs=rngs)
        self.W_q = linear(query_size, inner)
        self.W_k = linear(key_size, few)
        self.W_v = linear(value_size, few)
        self.W_o = linear(inner, num_hiddens)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None

    def _turned(self, heads: Array, offset: Any) -> Array:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: Array, values: Array, offset: Any = 0) -> tuple[Array, Array]:
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        keys, values = (transpose_qkv(part, self.num_kv_heads) for part in (self.W_k(keys), self.W_v(values)))
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Array:
        features("queries", queries, self.W_q)
        queries = self._turned(transpose_qkv(self.W_q(queries), self.num_heads), offset)
        output = self.attention(queries, keys, values, valid_lens, **options)
        return self.W_o(transpose_output(output, self.num_heads))

    def __call__(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Array:
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        return self.attend(queries, keys, values, valid_lens, offset=offset, **options)
