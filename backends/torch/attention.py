"""Masks, scaled dot-product attention and multi-head attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Unpack

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from transformer_mb.attention_weights import WeightsOfHeads
from transformer_mb.checks import check_attention, check_parted, check_rank, check_unparted
from transformer_mb.config import check_heads, check_kv_heads, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, HeadOptions

from .dropout import Dropout
from .given import attention_mask, features, floats, lengths
from .rotary import RotaryEncoding
from .shortcuts import is_watched
from .shortcuts.composed_attention import SHORT_ROW, ComposedAttention, is_one_node, scores_of, softmax_where, weighed

FEW_SCORES = 2000  # up to this many the single call is the faster one all the same


def sequence_mask(X: Tensor, valid_len: Tensor, value: float = 0) -> Tensor:
    check_rank("X", X, "[B, S, ...]", *range(2, 9))
    valid_len = lengths("valid_len", valid_len, [X.shape[:1]], X.shape[1], X)
    outside = torch.arange(X.shape[1], device=X.device) >= valid_len[:, None]
    return X.masked_fill(outside.reshape(outside.shape + (1,) * (X.dim() - 2)), value)


def masked_softmax(X: Tensor, valid_lens: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
    check_rank("X", X, "[B, T, S] or [B, H, T, S]", 3, 4)
    floats("X", X)
    return softmax_where(X, _allowed(X.shape, X, valid_lens, mask, causal=False))


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    check_unparted(X, num_heads)
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, T, D] -> [B, H, T, D/H]


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    check_parted(X, num_heads)
    X = X.reshape(-1, num_heads, *X.shape[-2:])
    return X.transpose(1, 2).flatten(2)  # [B, H, T, D/H] -> [B, T, D]


def length_mask(valid_lens: Tensor, shape: Sequence[int], like: Tensor) -> Tensor:
    """True at the keys within ``valid_lens`` [B] or [B, T], broadcastable to scores of the given shape."""
    B, T, S = shape[0], *shape[-2:]
    lens = lengths("valid_lens", valid_lens, [(B,), (B, T)], S, like)
    return torch.arange(S, device=like.device) < lens.reshape(B, *(1,) * (len(shape) - 3), -1, 1)  # [B, (1,) 1 or T, S]


def _allowed(shape: Sequence[int], like: Tensor, valid_lens: Tensor | None, mask: Tensor | None, causal: bool) -> Tensor | None:
    """The AND of all three masks, broadcastable to scores of the given shape; None when nothing is masked."""
    T, S = shape[-2:]
    if mask is not None:
        mask = attention_mask(mask, shape, like)
    if valid_lens is not None:
        within = length_mask(valid_lens, shape, like)
        mask = within if mask is None else mask & within
    if causal and T > 1:
        past = torch.ones(T, S, dtype=torch.bool, device=like.device).tril(S - T)
        mask = past if mask is None else mask & past
    return mask


def _wants_all_digits(queries: Tensor) -> bool:
    """Tell whether a GPU's fused kernel for float32 loses too many: its gradients are off by up to 27 times as much.

    TF32 may lose them, and who has chosen kernels by ``sdpa_kernel`` gets those.
    """
    if queries.dtype != torch.float32 or not torch.is_grad_enabled():
        return False
    if torch.compiler.is_compiling():  # which can ask for none of these
        return True
    chosen = not (torch.backends.cuda.math_sdp_enabled() and torch.backends.cuda.mem_efficient_sdp_enabled())
    return torch.get_float32_matmul_precision() == "highest" and not chosen


class DotProductAttention(Called, nn.Module):
    """Runs torch's fused attention where it is the faster one, and neither weights nor injected masks are asked for."""

    def __init__(self, dropout: float, *, scaled: bool = True):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.scaled = scaled
        self.attention_weights: Tensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Drop the last call's weights: torch copies no tensor of a graph, and a file would keep what no model has."""
        return {**self.__dict__, "attention_weights": None}

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
        check_attention(queries, keys, values)
        floats("queries", queries)
        floats("keys", keys, queries, "queries")
        floats("values", values, queries, "queries")
        factor = self._factor(queries.shape[-1])
        scores_shape = (*queries.shape[:-1], keys.shape[-2])
        self.attention_weights = None
        own = isinstance(self.dropout, Dropout) and not is_watched(self.dropout)
        rate = self.dropout.p if own and self.training else 0.0
        # The CPU's fused kernel knows no dropout, and torch would compose the attention from slower parts.
        compiled = torch.compiler.is_compiling()
        short = not compiled and keys.shape[-2] < SHORT_ROW and math.prod(scores_shape) > FEW_SCORES
        slow = (rate > 0.0 or compiled or short) if queries.device.type == "cpu" else _wants_all_digits(queries)
        forward_mode = forward_ad._current_level >= 0  # which the fused kernels do not know
        if bias is not None or need_weights or slow or not own or forward_mode or self.dropout.keep is not None:
            allowed = _allowed(scores_shape, queries, valid_lens, mask, causal)
            if bias is None and not need_weights and is_one_node(self.dropout, queries, keys, values):
                factors = self.dropout._factors(scores_shape, queries) if rate > 0.0 else None
                return ComposedAttention.apply(queries, keys, values, allowed, factors, factor)
            scores = scores_of(queries, keys) * factor
            scores = scores if bias is None else scores + bias
            weights = softmax_where(scores, allowed)
            self.attention_weights = weights if need_weights else None
            return weighed(self.dropout(weights), values)
        # Branches, since what is compiled or traced for any size has no bool to give.
        few = True if queries.dim() == 4 and queries.shape[1] != keys.shape[1] else False  # noqa: SIM210
        fused = partial(F.scaled_dot_product_attention, dropout_p=rate, scale=factor, enable_gqa=few)
        # The kernel's own causal flag aligns at the first key, ours at the last: they agree when T = S.
        if causal and valid_lens is None and mask is None and scores_shape[-2] == scores_shape[-1]:
            return fused(queries, keys, values, is_causal=True)
        allowed = _allowed(scores_shape, queries, valid_lens, mask, causal)
        output = fused(queries, keys, values, allowed)
        if allowed is not None and queries.device.type != "cpu" and queries.dtype in (torch.bfloat16, torch.float16):
            # cuDNN's kernel, of these formats alone, gives any numbers to a query that has no key.
            output = output.masked_fill(~allowed.any(-1, keepdim=True), 0.0)
        return output


class MultiHeadAttention(WeightsOfHeads, Called, nn.Module):
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
        self.W_q = nn.Linear(query_size, inner, bias=use_bias)
        self.W_k = nn.Linear(key_size, few, bias=use_bias)
        self.W_v = nn.Linear(value_size, few, bias=use_bias)
        self.W_o = nn.Linear(inner, num_hiddens, bias=use_bias)
        turns = {"base": chosen.rotary_base, "layout": chosen.rotary_layout}
        rotary = chosen.position == "rotary"
        self.rotary = RotaryEncoding(width, chosen.max_len, **turns) if rotary else None

    def _turned(self, heads: Tensor, offset: Any) -> Tensor:
        return heads if self.rotary is None else self.rotary(heads, offset)

    def project_keys_values(self, keys: Tensor, values: Tensor, offset: Any = 0) -> tuple[Tensor, Tensor]:
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
