"""Attention composed of products, as one node of the graph.

The CPU's fused kernel knows no dropout, and is slow in short rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..dropout import Dropout
from . import is_watched

# torch's softmax on the CPU is slow over rows shorter than this: fused 0.45 ms, composed 0.07 ms, for 2,560 rows of 10.
SHORT_ROW = 16


def softmax(scores: Tensor) -> Tensor:
    # In formats of two bytes torch's own computes in float32 inside, where the composed one would round each of its steps.
    # What is compiled is slow in no length, and one program for all is compiled once.
    half = scores.dtype in (torch.bfloat16, torch.float16)
    if half or torch.compiler.is_compiling() or scores.shape[-1] >= SHORT_ROW:
        return torch.softmax(scores, dim=-1)
    # e^-80 is nothing beside the row's largest, 1; below e^-87 the CPU's exp is a hundred times slower.
    powers = torch.exp((scores - scores.detach().amax(dim=-1, keepdim=True)).clamp(min=-80.0))
    return powers / powers.sum(dim=-1, keepdim=True)


def softmax_where(scores: Tensor, allowed: Tensor | None) -> Tensor:
    if allowed is None:
        return softmax(scores)
    # The lowest finite number, not -inf: a row without any key would give NaN and poison the gradient.
    outside = ~allowed
    return softmax(scores.masked_fill(outside, torch.finfo(scores.dtype).min)).masked_fill(outside, 0.0)


def grouped(X: Tensor, keys: Tensor) -> Tensor:
    """[B, H, T, ...] -> [B, G, H/G * T, ...] for keys of G heads: consecutive heads of queries are steps of one."""
    if X.dim() == 3 or X.shape[1] == keys.shape[1]:
        return X
    return X.reshape(X.shape[0], keys.shape[1], -1, X.shape[-1])


def scores_of(queries: Tensor, keys: Tensor) -> Tensor:
    """[B, H, T, S] of products, which need no factor of their own for each head of keys."""
    return (grouped(queries, keys) @ keys.transpose(-2, -1)).view(*queries.shape[:-1], keys.shape[-2])


def weighed(weights: Tensor, values: Tensor) -> Tensor:
    """[B, H, T, S] and values of as many heads, or fewer, to [B, H, T, D]."""
    return (grouped(weights, values) @ values).view(*weights.shape[:-1], values.shape[-1])


def is_one_node(dropout: Dropout, *tensors: Tensor) -> bool:
    """Tell whether ``ComposedAttention`` will do: only its result is wanted, and only backward derivatives."""
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing() or torch._C._are_functorch_transforms_active()
    kinds = all(type(tensor) is Tensor and tensor.dtype in (torch.float32, torch.float64) for tensor in tensors)
    own = type(dropout) is Dropout and not is_watched(dropout)
    return own and kinds and not traced and forward_ad._current_level < 0 and not torch.is_autocast_enabled("cpu")


class ComposedAttention(torch.autograd.Function):
    """Queries, keys and values [..., T or S, D], what may be attended to, dropout's factors of the weights, and the scores'.

    Forward and backward work in place where they can: of the graph's twenty small arrays five remain.
    """

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None, factors: Tensor | None, scale: float
    ) -> Tensor:
        weights = _weights(scores_of(queries, keys).mul_(scale), allowed)
        ctx.scale = scale
        ctx.save_for_backward(queries, keys, values, weights, allowed, factors)
        return weighed(weights if factors is None else weights * factors, values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        queries, keys, values, weights, allowed, factors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a gradient of gradients goes through the weights, too
            weights = softmax_where(scores_of(queries, keys) * ctx.scale, allowed)
        dropped = weights if factors is None else weights * factors
        of_weights = scores_of(gradient, values)
        if factors is not None:
            of_weights = of_weights * factors
        of_scores = weights * (of_weights - (of_weights * weights).sum(dim=-1, keepdim=True)) * ctx.scale
        of_keys = grouped(of_scores, keys).transpose(-2, -1) @ grouped(queries, keys)
        of_values = grouped(dropped, values).transpose(-2, -1) @ grouped(gradient, values)
        return weighed(of_scores, keys), of_keys, of_values, None, None, None


def _weights(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """``softmax_where`` in place of the scores, by operations that broadcast a mask of few numbers fast."""
    if allowed is not None:
        bounds = scores.new_full(allowed.shape, torch.inf).masked_fill_(~allowed, torch.finfo(scores.dtype).min)
        torch.minimum(scores, bounds, out=scores)
    if scores.shape[-1] >= SHORT_ROW:
        scores = torch.softmax(scores, dim=-1)
    else:
        scores.sub_(scores.amax(dim=-1, keepdim=True)).clamp_(min=-80.0).exp_()
        scores.div_(scores.sum(dim=-1, keepdim=True))
    return scores if allowed is None else scores.mul_(allowed)
