"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions
from transformer_mb.masks import causal_mask

from .dropout import Dropout
from .framework import Layer, Linear, row_sums, softmax_backward, softmax_shift
from .given import attention_mask, features, floats, lengths
from .projection import Projection
from .rotary import RotaryEncoding
from .rounding import product
from .running import running


def sequence_mask(X: np.ndarray, valid_len: np.ndarray, value: float = 0) -> np.ndarray:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    inside = np.arange(X.shape[1]) < valid_len[:, None]
    return np.where(inside.reshape(*inside.shape, *(1,) * (X.ndim - 2)), X, np.asarray(value, X.dtype))


def masked_softmax(X: np.ndarray, valid_lens: np.ndarray | None = None, mask: np.ndarray | None = None) -> np.ndarray:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return _softmax_where(X, _allowed(X.shape, X, valid_lens, mask, causal=False))


def transpose_qkv(X: np.ndarray, num_heads: int) -> np.ndarray:
    check_unparted(X, num_heads)
    return X.reshape(*X.shape[:-1], num_heads, -1).swapaxes(1, 2)  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: np.ndarray, num_heads: int) -> np.ndarray:
    check_parted(X, num_heads)
    X = X.reshape(-1, num_heads, *X.shape[-2:])
    return X.swapaxes(1, 2).reshape(X.shape[0], X.shape[2], -1)  # [B, H, T, D/H] -> [B, T, D]


def _softmax_where(scores: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    shift = softmax_shift(scores)
    if allowed is not None and shift is not None:
        # The row's lowest, not -inf: a row without any key would give NaN.
        scores = np.where(allowed, scores, scores.min(axis=-1, keepdims=True))
        shift = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores if shift is None else scores - shift)
    if allowed is None:
        weights /= row_sums(weights)
        return weights
    weights *= allowed.astype(weights.dtype)
    total = row_sums(weights)
    total[total == 0.0] = 1.0
    weights /= total
    return weights


def length_mask(valid_lens: np.ndarray, shape: Sequence[int], like: np.ndarray) -> np.ndarray:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape."""
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S, like)
    return np.arange(S) < lens.reshape(B, *(1,) * (len(shape) - 3), -1, 1)  # [B, (1,) 1 or T, S]


def _allowed(
    shape: Sequence[int], like: np.ndarray, valid_lens: np.ndarray | None, mask: np.ndarray | None, causal: bool
) -> np.ndarray | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked."""
    T, S = shape[-2:]
    if mask is not None:
        mask = attention_mask(mask, shape, like)
    if valid_lens is not None:
        within = length_mask(valid_lens, shape, like)
        mask = within if mask is None else mask & within
    if causal and T > 1:
        past = causal_mask(T, S)
        mask = past if mask is None else mask & past
    return mask


def _grouped(X: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.ndim == 3 or X.shape[1] == keys.shape[1]:
        return X
    return X.reshape(X.shape[0], keys.shape[1], -1, X.shape[-1])


class DotProductAttention(Layer):
    def __init__(self, dropout: float, *, scaled: bool = True):
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: np.ndarray | None = None
        self.bias_gradient: np.ndarray | None = None

    def _factor(self, width: int) -> float:
        """Return what the products of queries and keys are multiplied by."""
        return 1.0 / math.sqrt(width) if self.scaled else 1.0

    def forward(
        self,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        valid_lens: np.ndarray | None = None,
        *,
        mask: np.ndarray | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: np.ndarray | None = None,
    ) -> np.ndarray:
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        shape = queries.shape
        queries = _grouped(queries, keys)
        scores = product(queries, keys.swapaxes(-2, -1)).reshape(*shape[:-1], -1)
        scores *= self._factor(shape[-1])
        if bias is not None:
            scores += bias
        weights = _softmax_where(scores, _allowed(scores.shape, scores, valid_lens, mask, causal))
        self.attention_weights = weights if need_weights else None
        dropped = self.dropout(weights)
        self.remember(queries, keys, values, weights, dropped, bias is not None)
        if queries.shape != shape or queries.ndim == 3:
            return product(_grouped(dropped, keys), values).reshape(*shape[:-1], -1)
        # Steps before heads in memory, so that transpose_output moves nothing.
        B, H, T, _ = shape
        output = np.empty((B, T, H, values.shape[-1]), weights.dtype).swapaxes(1, 2)
        return product(dropped, values, out=output)

    def backward(self, gradient: np.ndarray, out: Sequence[np.ndarray | None] = (None, None, None)) -> tuple[np.ndarray, ...]:
        """``out``: where to put the gradients of queries, keys and values. That of a bias stays in ``bias_gradient``."""
        queries, keys, values, weights, dropped, biased = self.recall()
        shape = (*gradient.shape[:-1], queries.shape[-1])
        gradient = _grouped(gradient, keys)
        d_values = product(_grouped(dropped, keys).swapaxes(-2, -1), gradient, out=out[2])
        d_dropped = product(gradient, values.swapaxes(-2, -1)).reshape(weights.shape)
        d_scores = softmax_backward(weights, self.dropout.backward(d_dropped))
        self.bias_gradient = d_scores.sum(axis=0, keepdims=True) if biased else None
        d_scores *= self._factor(queries.shape[-1])
        d_scores = _grouped(d_scores, keys)
        d_keys = product(d_scores.swapaxes(-2, -1), queries, out=out[1])
        if queries.shape == shape:
            return product(d_scores, keys, out=out[0]), d_keys, d_values
        d_queries = product(d_scores, keys).reshape(shape)
        if out[0] is not None:
            out[0][...] = d_queries
        return d_queries, d_keys, d_values


class MultiHeadAttention(WeightsOfHeads, Layer):
    """Attention that projects in one product where one array is queries, keys and values, or keys and values.

    ``backward`` then gives that array's whole gradient at its first place, and None at the others.
    """

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
        self._width = width
        self._sources: tuple[int, list[Projection]] | None = None

    def _turned(self, heads: np.ndarray, offset: int) -> np.ndarray:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def _project(self, X: np.ndarray, offset: int, first_key: int) -> Sequence[np.ndarray]:
        """Queries [B, H, T, D/H], keys and values [B, G, T, D/H] of one array, for ``_attend_projected``."""
        for layer, name in ((self.W_q, "queries"), (self.W_k, "keys"), (self.W_v, "values")):
            features(name, X, layer)
        projection = Projection(X, [self.W_q, self.W_k, self.W_v], self._width)
        self.remember((offset, first_key), projection)
        queries, keys, values = projection.heads
        return self._turned(queries, offset), self._turned(keys, first_key), values

    def project_keys_values(self, keys: np.ndarray, values: np.ndarray, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
        features("keys", keys, self.W_k)
        features("values", values, self.W_v)
        pairs = [(keys, [self.W_k, self.W_v])] if keys is values else [(keys, [self.W_k]), (values, [self.W_v])]
        sources = [Projection(X, layers, self._width) for X, layers in pairs]
        self._sources = (offset, sources) if running.recording else None
        keys, values = (heads for source in sources for heads in source.heads)
        return self._turned(keys, offset), values

    def attend(
        self,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        valid_lens: np.ndarray | None = None,
        *,
        offset: int = 0,
        **options: Unpack[AttentionOptions],
    ) -> np.ndarray:
        features("queries", queries, self.W_q)
        projection = Projection(queries, [self.W_q], self._width)
        projected, self._sources = self._sources, None
        self._saved = None
        if projected is not None:  # else the keys come from a cache, and there is no backward
            first_key, sources = projected
            self.remember((offset, first_key), projection, *sources)
        return self._attend_projected(self._turned(projection.heads[0], offset), keys, values, valid_lens, **options)

    def _attend_projected(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, valid_lens: np.ndarray | None, **options: Any
    ) -> np.ndarray:
        output = self.attention(queries, keys, values, valid_lens, **options)
        return self.W_o(transpose_output(output, self.num_heads))

    def forward(
        self,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        valid_lens: np.ndarray | None = None,
        *,
        offset: int = 0,
        **options: Unpack[AttentionOptions],
    ) -> np.ndarray:
        if queries is keys and keys is values:
            queries, keys, values = self._project(queries, offset, 0)
            return self._attend_projected(queries, keys, values, valid_lens, **options)
        if len(keys.shape) == 3:  # else they come from a cache
            keys, values = self.project_keys_values(keys, values)
        return self.attend(queries, keys, values, valid_lens, offset=offset, **options)

    def backward(self, gradient: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        offsets, *projections = self.recall()
        heads = transpose_qkv(self.W_o.backward(gradient), self.num_heads)
        places = [place for projection in projections for place in projection.gradients()]
        self.attention.backward(heads, places)
        if self.rotary is not None:
            for turned, offset in zip(places, offsets, strict=False):  # queries and keys
                turned[...] = self.rotary.backward(turned, offset)
        gradients = [projection.backward() for projection in projections]
        if len(gradients) == 3:
            return tuple(gradients)
        return (gradients[0], gradients[1] if len(gradients) == 2 else None, None)
