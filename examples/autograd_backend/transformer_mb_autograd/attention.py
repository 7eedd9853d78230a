"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import autograd.numpy as np
import numpy
from autograd.tracer import getval

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions
from transformer_mb.masks import causal_mask

from .dropout import Dropout
from .framework import Linear, Module, filled
from .given import attention_mask, features, floats, lengths
from .rotary import RotaryEncoding


def sequence_mask(X: Any, valid_len: Any, value: float = 0) -> Any:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1])
    inside = numpy.arange(X.shape[1]) < valid_len[:, None]
    return filled(X, inside.reshape(inside.shape + (1,) * (X.ndim - 2)), value)


def masked_softmax(X: Any, valid_lens: Any = None, mask: Any = None) -> Any:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X.shape, valid_lens, mask, causal=False))


def transpose_qkv(X: Any, num_heads: int) -> Any:
    check_unparted(X, num_heads)
    return np.swapaxes(np.reshape(X, (*X.shape[:-1], num_heads, -1)), 1, 2)  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: Any, num_heads: int) -> Any:
    check_parted(X, num_heads)
    X = np.swapaxes(np.reshape(X, (-1, num_heads, *X.shape[-2:])), 1, 2)
    return np.reshape(X, (*X.shape[:2], -1))  # [B, H, T, D/H] -> [B, T, D]


def _softmax_where(scores: Any, allowed: numpy.ndarray | None) -> Any:
    if allowed is not None:
        scores = filled(scores, allowed, numpy.finfo(scores.dtype).min)
    weights = np.exp(scores - getval(scores).max(axis=-1, keepdims=True))  # any shift gives the same, and the same gradient
    if allowed is not None:
        weights = filled(weights, allowed, 0.0)
    total = np.sum(weights, axis=-1, keepdims=True)
    return weights / (total + (getval(total) == 0.0).astype(total.dtype))  # a row without any key stays zero


def length_mask(valid_lens: Any, shape: Sequence[int]) -> numpy.ndarray:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape."""
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S)
    return numpy.arange(S) < lens.reshape(B, *(1,) * (len(shape) - 3), -1, 1)  # [B, (1,) 1 or T, S]


def _allowed(shape: Sequence[int], valid_lens: Any, mask: Any, causal: bool) -> numpy.ndarray | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked."""
    masks = [] if mask is None else [attention_mask(mask, shape)]
    masks += [] if valid_lens is None else [length_mask(valid_lens, shape)]
    masks += [causal_mask(*shape[-2:])] if causal and shape[-2] > 1 else []
    allowed = masks[0] if masks else None
    for other in masks[1:]:
        allowed = allowed & other
    return allowed


def _product(X: Any, Y: Any) -> Any:
    """[B, H, T, ...] @ [B, G, ...], where each of G heads serves H / G consecutive ones, which are steps of one."""
    if X.ndim == 3 or X.shape[1] == Y.shape[1]:
        return np.matmul(X, Y)
    grouped = np.reshape(X, (X.shape[0], Y.shape[1], -1, X.shape[-1]))
    return np.reshape(np.matmul(grouped, Y), (*X.shape[:-1], Y.shape[-1]))


class DotProductAttention(Module):
    def __init__(self, dropout: float, *, scaled: bool = True):
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: Any = None

    def forward(
        self,
        queries: Any,
        keys: Any,
        values: Any,
        valid_lens: Any = None,
        *,
        mask: Any = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: Any = None,
    ) -> Any:
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        scores = _product(queries, np.swapaxes(keys, -2, -1)) * (1.0 / math.sqrt(queries.shape[-1]) if self.scaled else 1.0)
        scores = scores if bias is None else scores + bias
        weights = _softmax_where(scores, _allowed(scores.shape, valid_lens, mask, causal))
        self.attention_weights = getval(weights) if need_weights else None
        return _product(self.dropout(weights), values)


class MultiHeadAttention(WeightsOfHeads, Module):
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
        check_sizes(key_size=key_size, query_size=query_size, value_size=value_size)
        chosen = Chosen(HeadOptions, options, dropout)
        width = check_heads(num_hiddens, num_heads, head_size=chosen.head_size)
        self.num_heads, self.num_kv_heads = num_heads, check_kv_heads(num_heads, chosen.num_kv_heads)
        inner, few = width * num_heads, width * self.num_kv_heads
        self.attention = DotProductAttention(dropout, scaled=chosen.attention_scale)
        self.W_q = Linear(query_size, inner, bias=use_bias)
        self.W_k = Linear(key_size, few, bias=use_bias)
        self.W_v = Linear(value_size, few, bias=use_bias)
        self.W_o = Linear(inner, num_hiddens, bias=use_bias)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None

    def _turned(self, heads: Any, offset: Any) -> Any:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: Any, values: Any, offset: Any = 0) -> tuple[Any, Any]:
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        keys, values = (transpose_qkv(part, self.num_kv_heads) for part in (self.W_k(keys), self.W_v(values)))
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: Any,
        keys: Any,
        values: Any,
        valid_lens: Any = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Any:
        features("queries", queries, self.W_q)
        queries = self._turned(transpose_qkv(self.W_q(queries), self.num_heads), offset)
        return self.W_o(transpose_output(self.attention(queries, keys, values, valid_lens, **options), self.num_heads))

    def forward(
        self,
        queries: Any,
        keys: Any,
        values: Any,
        valid_lens: Any = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Any:
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        return self.attend(queries, keys, values, valid_lens, offset=offset, **options)
