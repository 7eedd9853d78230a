"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import paddle
import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions
from transformer_mb.masks import causal_mask

from .dropout import Dropout
from .given import attention_mask, features, floats, known_sizes, lengths
from .linear import Linear
from .rotary import RotaryEncoding
from .shortcuts import swap_axes


def sequence_mask(X: Tensor, valid_len: Tensor, value: float = 0) -> Tensor:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    outside = ~F.sequence_mask(valid_len, X.shape[1], "bool")
    return paddle.masked_fill(X, outside.reshape([*outside.shape, *(1,) * (X.ndim - 2)]), value)


def masked_softmax(X: Tensor, valid_lens: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X.shape, X, valid_lens, mask, causal=False))


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    check_unparted(X, num_heads)
    return swap_axes(X.reshape([0, 0, num_heads, -1]))  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    check_parted(X, num_heads)
    X = X.reshape([-1, num_heads, *X.shape[-2:]])
    return swap_axes(X).flatten(2)  # [B, H, T, D/H] -> [B, T, D]


def _softmax_where(scores: Tensor, allowed: Tensor | None) -> Tensor:
    if allowed is None:
        return F.softmax(scores, axis=-1)
    outside = ~allowed
    # The lowest finite number, not -inf: a row without any key would give NaN and poison the gradient.
    weights = F.softmax(paddle.masked_fill(scores, outside, paddle.finfo(scores.dtype).min), axis=-1)
    return paddle.masked_fill(weights, outside, 0.0)


def length_mask(valid_lens: Tensor, shape: Sequence[int], like: Tensor) -> Tensor:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape."""
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S, like)
    return F.sequence_mask(lens.reshape([B, *(1,) * (len(shape) - 3), -1]), S, "bool")  # [B, (1,) 1 or T, S]


def _allowed(shape: Sequence[int], like: Tensor, valid_lens: Tensor | None, mask: Tensor | None, causal: bool) -> Tensor | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked."""
    T, S = shape[-2:]
    if mask is not None:
        mask = attention_mask(mask, shape, like)
    if valid_lens is not None:
        within = length_mask(valid_lens, shape, like)
        mask = within if mask is None else mask & within
    if causal and T > 1:
        past = paddle.to_tensor(causal_mask(T, S))
        mask = past if mask is None else mask & past
    return mask


def _grouped(X: Tensor, keys: Tensor) -> Tensor:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.ndim == 3 or X.shape[1] == keys.shape[1]:
        return X
    return X.reshape([0, keys.shape[1], X.shape[1] // keys.shape[1] * X.shape[2], -1])


def _apart(Y: Tensor, queries: Tensor) -> Tensor:
    """[B, G, H/G * T, ...] -> [B, H, T, ...] of the queries."""
    if Y.ndim == 3 or Y.shape[1] == queries.shape[1]:
        return Y
    return Y.reshape([0, *queries.shape[1:3], -1])


class DotProductAttention(Called, nn.Layer):
    """Composed: Paddle's fused attention adds -1e9 to masked scores, so a fully masked row attends to everything."""

    def __init__(self, dropout: float, *, scaled: bool = True):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: Tensor | None = None

    def _factor(self, width: int) -> float:
        """Return what the products of queries and keys are multiplied by."""
        return 1.0 / math.sqrt(width) if self.scaled else 1.0

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: Tensor | None = None,
    ) -> Tensor:
        known_sizes("queries", queries)
        known_sizes("keys", keys)
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        scaled = queries * self._factor(queries.shape[-1])
        scores = _apart(paddle.matmul(_grouped(scaled, keys), keys, transpose_y=True), queries)
        scores = scores if bias is None else scores + bias
        weights = _softmax_where(scores, _allowed(scores.shape, scores, valid_lens, mask, causal))
        self.attention_weights = weights if need_weights else None
        return _apart(paddle.matmul(_grouped(self.dropout(weights), values), values), queries)


class MultiHeadAttention(WeightsOfHeads, Called, nn.Layer):
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
        self.W_q = Linear(query_size, inner, bias_attr=use_bias)
        self.W_k = Linear(key_size, few, bias_attr=use_bias)
        self.W_v = Linear(value_size, few, bias_attr=use_bias)
        self.W_o = Linear(inner, num_hiddens, bias_attr=use_bias)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None

    def _turned(self, heads: Tensor, offset: Any) -> Tensor:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: Tensor, values: Tensor, offset: Any = 0) -> tuple[Tensor, Tensor]:
        known_sizes("keys", keys)
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        keys, values = (transpose_qkv(part, self.num_kv_heads) for part in (self.W_k(keys), self.W_v(values)))
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Tensor:
        known_sizes("queries", queries)
        features("queries", queries, self.W_q)
        queries = self._turned(transpose_qkv(self.W_q(queries), self.num_heads), offset)
        output = self.attention(queries, keys, values, valid_lens, **options)
        return self.W_o(transpose_output(output, self.num_heads))

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Tensor:
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        return self.attend(queries, keys, values, valid_lens, offset=offset, **options)
