"""The step-by-step pre-norm notebook, at its own width of 512 with 8 heads."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import transformer_mb as tmb
from transformer_mb.batch import Batch

from .figure import Figure
from .message import message

WIDTH, HEADS, EPSILON = 512, 8, 1e-6
MASK = torch.tensor([[1, 0, 1]])


def _split(X):
    return X.view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)


def _weights(rows, columns):
    return F.softmax(rows @ columns.transpose(-2, -1) / math.sqrt(rows.shape[-1]), dim=-1)


def _tokens(steps, seed=0):
    return torch.randn(1, steps, WIDTH, generator=torch.Generator().manual_seed(seed))


def divisor_overflow():
    position = torch.arange(0, 5000).unsqueeze(1)
    even = torch.arange(0, WIDTH, 2)
    published = torch.sin(position * (torch.exp(even) * -(math.log(10000.0) / WIDTH)))
    ours = tmb.get_backend("numpy").layer("PositionalEncoding", WIDTH, 0.0, 5000)
    added = tmb.get_backend("numpy").apply(ours, np.zeros((1, 5000, WIDTH)))
    first = int(published.isnan().any(dim=0).nonzero()[0])
    x = torch.zeros(3, WIDTH)
    x[:, 0::2] += published[:3]
    normalized = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + EPSILON)
    return {
        "first column that is not a number": 2 * first,
        "numbers that are none": f"{int(published.isnan().sum()):,} of {published.numel():,}",
        "after the first norm": f"{int(normalized.isnan().sum()):,} of {normalized.numel():,}",
        "ours": f"{int(np.isnan(added).sum())}",
    }


def keys_times_queries():
    """The weights' rows belong to the keys then; with as many of both it goes unnoticed."""
    q, k, v = _split(_tokens(4, 0)), _split(_tokens(3, 1)), _split(_tokens(3, 2))
    square = _split(_tokens(3, 3))
    found = {"3 source tokens, 4 target tokens": message(lambda: _weights(k, q) @ v)}
    apart = (_weights(k, square) - _weights(square, k)).abs().max().item()
    found["3 of both, the weights differ by up to"] = Figure(apart, at_least=0.1)
    backend = tmb.get_backend("torch")
    layer = backend.layer("MultiHeadAttention", WIDTH, WIDTH, WIDTH, WIDTH, HEADS, 0.0)
    found["ours, 3 and 4"] = backend.apply(layer, _tokens(4).numpy(), _tokens(3).numpy(), _tokens(3).numpy()).shape
    return found


def mask_of_a_millionth():
    scores = torch.zeros(1, 1, 3, 3)
    published = F.softmax(scores.masked_fill(MASK == 0, -EPSILON), dim=-1)
    ours = tmb.get_backend("torch").masked_softmax(scores, mask=MASK.bool())
    return {
        "weight of the masked token": f"{published[0, 0, 0, 1].item():.4f}",
        "the share of a token that is not masked": f"{published[0, 0, 0, 0].item():.4f}",
        "ours": f"{ours[0, 0, 0, 1].item():.4f}",
    }


def values_by_the_keys_matrix():
    key, value = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
    X = _tokens(3)
    k, v = key(X), key(X)
    (_weights(_split(k), _split(X)) @ _split(v)).sum().backward()
    unused = sum(parameter.numel() for parameter in value.parameters() if parameter.grad is None)
    return {"keys equal values": bool(torch.equal(k, v)), "parameters without gradient": f"{unused:,}"}


def decoder_sees_the_future():
    """The self-attention of the decoder, on two targets that differ in their last token."""
    mask = torch.ones(3)
    X, other = _tokens(3), _tokens(3).clone()
    other[0, -1] = -other[0, -1]
    found = {}
    causal = torch.ones(3, 3).tril()
    for name, allowed, bounds in (("published", mask, {"at_least": 0.01}), ("causal", causal, {"at_most": 0.0})):
        outputs = []
        for x in (X, other):
            scores = _split(x) @ _split(x).transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
            outputs.append(F.softmax(scores.masked_fill(allowed == 0, -torch.inf), dim=-1) @ _split(x))
        moved = (outputs[0] - outputs[1])[:, :, 0].abs().max().item()
        found[f"{name}, the first token's output moves by"] = Figure(moved, **bounds)
    return found


def borrowed_projections():
    """Cross-attention is given layers of its own, and calls those of the encoder."""
    encoder, own = ([nn.Linear(WIDTH, WIDTH) for _ in range(3)] for _ in range(2))
    q, k, v = (_split(layer(_tokens(3, seed))) for seed, layer in enumerate(encoder))
    (_weights(q, k) @ v).sum().backward()
    unused = sum(parameter.numel() for layer in own for parameter in layer.parameters() if parameter.grad is None)
    config = tmb.presets.stepwise_prenorm(20, 20)
    backend = tmb.get_backend("torch")
    model = backend.build(config, 0, "torch_default")
    batch = Batch(*map(np.array, ([[1, 2]], [2], [[1, 2]], [[2, 3]], [2])))
    gradients = backend.loss_and_gradients(model, batch)[1]
    ours = sum(not value.any() for name, value in gradients.items() if "attention2" in name and name.endswith("weight"))
    return {"parameters without gradient": f"{unused:,}", "ours, cross-attention matrices without": ours}


def source_mask_left_out():
    """Cross-attention gets no mask at all, so that a target looks at padding of the source."""
    q, k = _split(_tokens(3, 0)), _split(_tokens(3, 1))
    masked = tmb.get_backend("torch").masked_softmax(q @ k.transpose(-2, -1), mask=MASK.bool())
    return {
        "largest weight of the masked source token": Figure(_weights(q, k)[..., 1].max().item(), at_least=0.5),
        "ours": Figure(masked[..., 1].max().item(), at_most=0.0),
    }


def norm_that_starts_at_one():
    X = _tokens(3)
    normalized = (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True) + EPSILON)
    return {
        "mean after the decoder's second norm": f"{(normalized + torch.ones(WIDTH)).mean().item():.2f}",
        "after every other": f"{abs(normalized.mean().item()):.2f}",
    }


DEMONSTRATIONS = {
    "divisor-overflow": divisor_overflow,
    "keys-times-queries": keys_times_queries,
    "mask-of-a-millionth": mask_of_a_millionth,
    "values-by-the-keys-matrix": values_by_the_keys_matrix,
    "decoder-sees-the-future": decoder_sees_the_future,
    "borrowed-projections": borrowed_projections,
    "source-mask-left-out": source_mask_left_out,
    "norm-that-starts-at-one": norm_that_starts_at_one,
}
