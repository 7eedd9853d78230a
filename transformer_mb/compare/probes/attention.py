"""Attention: what masks mean and do; the rest is in ``attention_numbers``."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .attention_numbers import NUMBERS
from .reading import NEAR, blank, named, reading, spread

KEYS, MARKED = 4, 2  # of a mask with one number set


def _gradients_without_any_key(attention_gradients: Ask) -> str:
    dqueries, dkeys, dvalues = attention_gradients(*blank(1, KEYS), np.zeros((1, KEYS), bool))
    broken = np.isnan(dqueries).any() or np.isnan(dkeys).any()
    return "NaN" if broken else spread(dvalues[0, :, 0, 0])


def _mask(attention: Ask, dtype: str = "bool") -> str:
    mask = np.eye(1, KEYS, MARKED).astype(dtype)
    return reading(attention(*blank(1, KEYS), mask)[0, 0, 0], MARKED)


def _one_head(layer: Ask) -> Ask:
    """Make a function of [B, T, 1, D] of a layer for [B, T, D]."""
    return lambda Q, K, V, mask, **options: layer(Q[:, :, 0], K[:, :, 0], V[:, :, 0], mask, **options)[:, :, None]


def _layer_without_any_key(layer: Ask, **options: object) -> str:
    """Mask every key, after asking what True means in the layer's mask."""
    masked = _mask(_one_head(layer)) == "set is ignored"
    return spread(_one_head(layer)(*blank(1, KEYS), np.full((1, KEYS), masked), **options)[0, 0, 0])


def _causal(attention: Ask) -> str:
    T, S = 2, 5
    seen = attention(*blank(T, S), causal=True)[0, :, 0] > NEAR
    corners = {"top left": np.tri(T, S), "bottom right": np.tri(T, S, S - T), "what is to come": 1 - np.tri(T, S)}
    return named(seen, corners, "another pattern")


MASKS = (
    Probe(
        name="attention without any key",
        operation="attention",
        measure=lambda attention: spread(attention(*blank(1, KEYS), np.zeros((1, KEYS), bool))[0, 0, 0]),
        question="What does the attention function give a query whose boolean mask leaves it no key?",
        meaning="An empty row, such as padding, is nothing, a mean of all values, or NaN that spreads to everything.",
        setting="Give such rows a key, or set their output to zero.",
        sources=("pytorch/pytorch#103749", "pytorch/pytorch#103963", "ml-explore/mlx#2395", "openvinotoolkit/openvino#36016"),
    ),
    Probe(
        name="attention without any key, mask of -inf",
        operation="attention",
        measure=lambda attention: spread(attention(*blank(1, KEYS), np.full((1, KEYS), -np.inf, "float32"))[0, 0, 0]),
        question="And where a float mask has -inf at every key?",
        meaning="A mask written for one framework makes NaN, or means nothing at all, in another.",
        setting="A boolean mask, or the dtype's lowest finite number in place of -inf.",
        sources=("pytorch/pytorch#103749",),
    ),
    Probe(
        name="gradient of attention without any key",
        operation="attention_gradients",
        measure=_gradients_without_any_key,
        question="What gradient do the values get from a query that has no key?",
        meaning="NaN there ends a training run; a uniform one trains the values with what was to be hidden.",
        setting="Leave such rows out of the loss and give them a key.",
        sources=("pytorch/pytorch#103749",),
    ),
    Probe(
        name="attention layer without any key",
        operation="multi_head_attention",
        measure=_layer_without_any_key,
        question="What does the layer for multi-head attention give a query whose boolean mask leaves it no key?",
        meaning="A layer may answer otherwise than the function of the same framework.",
        setting="Give such rows a key, or set their output to zero.",
        sources=("pytorch/pytorch#103749",),
    ),
    Probe(
        name="attention layer without any key, weights asked for",
        operation="multi_head_attention",
        measure=lambda ask: _layer_without_any_key(ask, weights=True),
        question="And when the layer is asked for its weights too?",
        meaning="Looking at the weights takes another path through the layer, and can change its output.",
        setting="`need_weights=False` in torch, `return_attention_scores=False` in Keras.",
        sources=("keras-team/keras#23038", "pytorch/pytorch#160064", "pytorch/pytorch#41508"),
    ),
    Probe(
        name="attention layer without any key, dropout",
        operation="multi_head_attention",
        measure=lambda ask: _layer_without_any_key(ask, rate=1e-6, training=True),
        question="And in training with dropout, of a rate that drops nothing?",
        meaning="Where dropout takes another path, a model without it is another model than one with a rate near zero.",
        setting="In Keras `flash_attention`, dropout and the weights choose the path.",
        sources=("keras-team/keras#23038",),
    ),
    Probe(
        name="boolean mask of attention",
        operation="attention",
        measure=_mask,
        question="What does True mean in a mask of the attention function?",
        meaning="The other way round, a model sees just what it must not, and still trains.",
        setting="`~mask`.",
        sources=("rasbt/LLMs-from-scratch#1061", "NVIDIA/TransformerEngine#614", "lucidrains/x-transformers#164"),
    ),
    Probe(
        name="boolean mask of the attention layer",
        operation="multi_head_attention",
        measure=lambda ask: _mask(_one_head(ask)),
        question="What does True mean in a mask of the layer?",
        meaning="torch's layer and its function disagree: the same mask hides in one what it shows in the other.",
        setting="`~mask`.",
        sources=("facebookresearch/detr#96", "rasbt/LLMs-from-scratch#1061"),
    ),
    Probe(
        name="mask of float 0 and 1",
        operation="attention",
        measure=lambda ask: _mask(ask, "float32"),
        question="What does a mask of 0.0 and 1.0 do in the attention function?",
        meaning="Added to the scores it hides nothing: the model attends to padding, and no error says so.",
        setting="A boolean mask.",
        sources=("pytorch/pytorch#103963",),
    ),
    Probe(
        name="mask of integers 0 and 1",
        operation="attention",
        measure=lambda ask: _mask(ask, "int32"),
        question="What does a mask of integers 0 and 1 do in the attention function?",
        meaning="Tokenizers give masks of this dtype; whether they work, or raise, depends on the framework.",
        setting="A boolean mask.",
    ),
    Probe(
        name="mask of integers 0 and 1 of the attention layer",
        operation="multi_head_attention",
        measure=lambda ask: _mask(_one_head(ask), "int32"),
        question="What does a mask of integers 0 and 1 do in the layer?",
        meaning="Tokenizers give masks of this dtype; a layer may take what the function beside it refuses.",
        setting="A boolean mask.",
    ),
    Probe(
        name="causal attention with more keys than queries",
        operation="attention",
        measure=_causal,
        question="Which keys does a causal query see where there are 2 queries and 5 keys?",
        meaning="With a cache of earlier keys, a mask from the top left hides nearly all of them from the new queries.",
        setting="A mask of one's own, from the bottom right.",
        sources=(
            "pytorch/pytorch#108108",
            "Dao-AILab/flash-attention#282",
            "Dao-AILab/flash-attention#951",
            "ml-explore/mlx#2836",
        ),
    ),
)
PROBES = MASKS + NUMBERS
