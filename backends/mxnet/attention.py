"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Unpack

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions
from transformer_mb.masks import causal_mask

from .dropout import Dropout
from .given import attention_mask, features, floats, lengths
from .rotary import RotaryEncoding
from .shim import Block


def sequence_mask(X: mnp.ndarray, valid_len: mnp.ndarray, value: float = 0) -> mnp.ndarray:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    if not value:
        return npx.sequence_mask(X, valid_len, use_sequence_length=True, axis=1)
    # The operator would take its value as float32.
    within = mnp.arange(X.shape[1], dtype=valid_len.dtype, ctx=X.ctx) < valid_len[:, None]
    within = within.reshape(*within.shape, *(1,) * (X.ndim - 2))
    return mnp.where(within, X, mnp.array(value, dtype=X.dtype, ctx=X.ctx))


def masked_softmax(X: mnp.ndarray, valid_lens: mnp.ndarray | None = None, mask: mnp.ndarray | None = None) -> mnp.ndarray:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X.shape, X, valid_lens, mask, causal=False))


def transpose_qkv(X: mnp.ndarray, num_heads: int) -> mnp.ndarray:
    check_unparted(X, num_heads)
    return npx.reshape(X, (-2, -2, num_heads, -1)).swapaxes(1, 2)  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: mnp.ndarray, num_heads: int) -> mnp.ndarray:
    check_parted(X, num_heads)
    X = X.reshape(-1, num_heads, *X.shape[-2:])
    return npx.reshape(X.swapaxes(1, 2), (-2, -2, -1))  # [B, H, T, D/H] -> [B, T, D]


def _softmax_where(scores: mnp.ndarray, allowed: tuple[mnp.ndarray, mnp.ndarray | None] | None) -> mnp.ndarray:
    if allowed is None:
        return npx.softmax(scores)
    # Masks of full size where it is recorded: the backward of a broadcasting operation takes ten times as long.
    whole = partial(mnp.broadcast_to, shape=scores.shape) if autograd.is_recording() else lambda array: array
    bias, keep = allowed
    weights = npx.softmax(scores + whole(bias))
    return weights if keep is None else weights * whole(keep)


def length_mask(valid_lens: mnp.ndarray, shape: Sequence[int], like: mnp.ndarray) -> Any:
    """The keys within ``valid_lens`` [B] or [B, T], for scores of the given shape and of the dtype of ``like``, as
    ``mask`` of several calls."""
    return _allowed(shape, like, valid_lens, None, causal=False)


def _allowed(
    shape: Sequence[int], like: mnp.ndarray, valid_lens: mnp.ndarray | None, mask: Any, causal: bool
) -> tuple[mnp.ndarray, mnp.ndarray | None] | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked.

    Sums and products, because mxnet.np.where takes six times as long (measured): what to add to the scores, and
    what to multiply the weights by, where a row can be without any key. A ``mask`` of this form alone is returned as it is.
    """
    T, S = shape[-2:]
    causal = causal and T > 1
    shared = isinstance(mask, tuple)
    if shared and valid_lens is None and not causal:
        return mask
    factors = []
    if valid_lens is not None:
        lens = lengths("valid_lens", valid_lens, [(shape[0],), (shape[0], T)], S, like)
        lens = lens.reshape(shape[0], *(1,) * (len(shape) - 3), -1, 1)  # [B, (1,) 1 or T, 1]
        factors.append(npx.cast(mnp.arange(S, dtype=lens.dtype, ctx=lens.ctx) < lens, dtype=like.dtype))
    if mask is not None:
        factors.append(mask[1] if shared else npx.cast(attention_mask(mask, shape, like), dtype=like.dtype))
    if causal:
        past = _past(T, S, np.dtype(like.dtype).name, like.ctx)
        if not factors and T <= S:
            return past[0], None
        factors.append(past[1])
    if not factors:
        return None
    keep = math.prod(factors[1:], start=factors[0])
    return _bias(keep), keep


def _bias(keep: mnp.ndarray) -> mnp.ndarray:
    """0 where ``keep`` is 1, and a lowest number where it is 0, which swallows any score.

    Finite, not -inf: a row without any key would give NaN and poison the gradient.
    """
    lowest = float(np.finfo(keep.dtype).min) / 2
    return keep * -lowest + lowest


@lru_cache(maxsize=16)
def _past(T: int, S: int, dtype: str, context: mx.Context) -> tuple[mnp.ndarray, mnp.ndarray]:
    with autograd.pause():
        keep = mnp.array(causal_mask(T, S), dtype=dtype, ctx=context)
        return _bias(keep), keep


def _grouped(X: mnp.ndarray, keys: mnp.ndarray) -> mnp.ndarray:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.ndim == 3 or X.shape[1] == keys.shape[1]:
        return X
    return npx.reshape(X, (-2, keys.shape[1], X.shape[1] // keys.shape[1] * X.shape[2], -1))


def _apart(Y: mnp.ndarray, queries: mnp.ndarray) -> mnp.ndarray:
    """[B, G, H/G * T, ...] -> [B, H, T, ...] of the queries."""
    if Y.ndim == 3 or Y.shape[1] == queries.shape[1]:
        return Y
    return npx.reshape(Y, (-2, *queries.shape[1:3], -1))


class DotProductAttention(Block):
    """A mask may also be what ``length_mask`` returns, so that several calls share one."""

    def __init__(self, dropout: float, *, scaled: bool = True):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: mnp.ndarray | None = None

    def _factor(self, width: int) -> float:
        """Return what the products of queries and keys are multiplied by."""
        return 1.0 / math.sqrt(width) if self.scaled else 1.0

    def forward(
        self,
        queries: mnp.ndarray,
        keys: mnp.ndarray,
        values: mnp.ndarray,
        valid_lens: mnp.ndarray | None = None,
        *,
        mask: mnp.ndarray | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: mnp.ndarray | None = None,
    ) -> mnp.ndarray:
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        scores_shape = (*queries.shape[:-1], keys.shape[-2])
        allowed = _allowed(scores_shape, queries, valid_lens, mask, causal)
        scaled = queries * self._factor(queries.shape[-1])
        scores = _apart(npx.batch_dot(_grouped(scaled, keys), keys, transpose_b=True), queries)
        if bias is not None:
            scores = scores + (mnp.broadcast_to(bias, scores.shape) if autograd.is_recording() else bias)
        weights = _softmax_where(scores, allowed)
        self.attention_weights = weights if need_weights else None
        return _apart(npx.batch_dot(_grouped(self.dropout(weights), values), values), queries)


class MultiHeadAttention(WeightsOfHeads, Block):
    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        **options: Unpack[HeadOptions],
    ):
        super().__init__()
        check_sizes(key_size=key_size, query_size=query_size, value_size=value_size)
        chosen = Chosen(HeadOptions, options, dropout)
        width = check_heads(num_hiddens, num_heads, head_size=chosen.head_size)
        self.num_heads, self.num_kv_heads = num_heads, check_kv_heads(num_heads, chosen.num_kv_heads)
        inner, few = width * num_heads, width * self.num_kv_heads
        self.attention = DotProductAttention(dropout, scaled=chosen.attention_scale)
        self.W_q = nn.Dense(inner, in_units=query_size, use_bias=use_bias, flatten=False)
        self.W_k = nn.Dense(few, in_units=key_size, use_bias=use_bias, flatten=False)
        self.W_v = nn.Dense(few, in_units=value_size, use_bias=use_bias, flatten=False)
        self.W_o = nn.Dense(num_hiddens, in_units=inner, use_bias=use_bias, flatten=False)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None

    def _turned(self, heads: mnp.ndarray, offset: Any) -> mnp.ndarray:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: mnp.ndarray, values: mnp.ndarray, offset: Any = 0) -> tuple[mnp.ndarray, mnp.ndarray]:
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        keys, values = (transpose_qkv(part, self.num_kv_heads) for part in (self.W_k(keys), self.W_v(values)))
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: mnp.ndarray,
        keys: mnp.ndarray,
        values: mnp.ndarray,
        valid_lens: mnp.ndarray | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> mnp.ndarray:
        features("queries", queries, self.W_q)
        queries = self._turned(transpose_qkv(self.W_q(queries), self.num_heads), offset)
        output = self.attention(queries, keys, values, valid_lens, **options)
        return self.W_o(transpose_output(output, self.num_heads))

    def forward(
        self,
        queries: mnp.ndarray,
        keys: mnp.ndarray,
        values: mnp.ndarray,
        valid_lens: mnp.ndarray | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> mnp.ndarray:
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        return self.attend(queries, keys, values, valid_lens, offset=offset, **options)
