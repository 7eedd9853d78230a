"""Attention: its scale and precision, what is dropped out, and what NaN and a row's neighbors change."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Ask, Probe
from .reading import NEAR, bits, blank, named, rounded, spread

KEYS = 4


def _scale(attention: Ask) -> float:
    """Take the logarithm of the ratio of two weights, which is the difference of their scores: the scale times 8."""
    queries, keys, values = blank(1, 2, size=16)
    queries[..., 0], keys[:, 0, :, 0] = 8.0, 1.0
    weights = attention(queries, keys, values)[0, 0, 0]
    return rounded(math.log(weights[0] / weights[1]) / 8.0, 4)


def _dropped(weights: np.ndarray) -> str:
    kept = float(np.mean(weights != 0))
    return "drops out" if 0 < kept < 1 else "drops all" if kept == 0 else "drops nothing"


def _shared_dropout(multi_head_attention: Ask) -> str:
    B, T, S, heads = 3, 4, 16, 2
    values = np.broadcast_to(np.tile(np.eye(S, dtype="float32"), heads), (B, S, heads * S)).copy()
    queries, keys = np.zeros((B, T, heads * S), "float32"), np.zeros((B, S, heads * S), "float32")
    output = multi_head_attention(queries, keys, values, heads=heads, rate=0.5, training=True)
    kept = output.reshape(B, T, heads, S) != 0
    names = {"rows": 0, "heads": 2, "queries": 1}
    shared = [name for name, axis in names.items() if (kept == kept.take([0], axis)).all()]
    return f"one for all {' and '.join(shared)}" if shared else "each weight its own"


def _nan(attention: Ask, where: int) -> str:
    arrays = blank(1, KEYS)
    arrays[where][0, -1] = np.nan
    row = attention(*arrays, np.arange(KEYS)[None] < KEYS - 1)[0, 0, 0]
    return "NaN" if np.isnan(row).any() else named(row, {"kept out": [1 / 3, 1 / 3, 1 / 3, 0]}, "other numbers", NEAR)


def _drawn(B: int, S: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal((B, S, 2, 32)) for _ in range(3)]


def _float64(attention: Ask) -> str:
    queries, keys, values = _drawn(2, 16)
    output = attention(queries, keys, values)
    if output.dtype != np.float64:
        return f"gives {output.dtype}"
    weights = np.exp(np.einsum("bthd,bshd->bhts", queries, keys) / math.sqrt(32))
    exact = np.einsum("bhts,bshd->bthd", weights / weights.sum(-1, keepdims=True), values)
    error = float(np.abs(output - exact).max())
    return "float64" if error < 1e-12 else "float32 inside" if error < 1e-5 else "half precision inside"


def _row_with_padding(attention: Ask) -> str:
    queries, keys, values = (array.astype("float32") for array in _drawn(1, 24))
    within = np.broadcast_to(np.arange(24) < 16, (24, 24)).copy()
    return bits(attention(queries, keys[:, :16], values[:, :16]), attention(queries, keys, values, within))


def _encoder_padding(encoder: Ask) -> str:
    X = np.random.default_rng(0).standard_normal((2, 4, 4)).astype("float32")
    output = encoder(X, np.array([3, 2]))
    if output.shape != X.shape:
        return "cut off"
    return "computed" if (word := spread(output[:, 3].ravel())) == "other weights" else word


NUMBERS = (
    Probe(
        name="scale of attention",
        operation="attention",
        measure=_scale,
        kind="close",
        question="What does the attention function multiply scores by, where heads are 16 wide?",
        meaning="Weights that were trained with one scale give other attention with another.",
        setting="`scale=`.",
    ),
    Probe(
        name="attention dropout of a function in evaluation",
        operation="attention_with_dropout",
        measure=lambda attention_with_dropout: _dropped(attention_with_dropout(*blank(2, 64), 0.5)),
        question="Does the attention function drop out when a model that is in evaluation mode calls it with a rate?",
        meaning="A function knows no mode: predictions are noisy, and differ from call to call.",
        setting="`dropout_p=self.rate if self.training else 0.0`; `training=` in Paddle, `deterministic=` in Flax.",
        sources=("pytorch/pytorch#124464", "pytorch/pytorch#99293", "huggingface/pytorch-image-models#1978"),
    ),
    Probe(
        name="attention dropout of a fresh layer",
        operation="fresh_multi_head_attention",
        measure=lambda fresh: _dropped(fresh(*(array[:, :, 0] for array in blank(2, 64)), 0.5)),
        question="Does a new layer for attention drop out when it is called without a word about training?",
        meaning="Some layers begin in training mode, some in evaluation, and some want to be told.",
        setting="`train()` and `eval()`, `training=`, or `deterministic=`.",
    ),
    Probe(
        name="what shares a mask of attention dropout",
        operation="multi_head_attention",
        measure=_shared_dropout,
        question="Over which axes is the mask of attention dropout one and the same?",
        meaning="One mask for all rows and heads is far less random than one for each: the same rate regularizes otherwise.",
        setting="`broadcast_dropout=False` in Flax.",
        sources=("flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/attention.html",),
    ),
    Probe(
        name="NaN in a masked key",
        operation="attention",
        measure=lambda ask: _nan(ask, where=1),
        question="Does a mask keep out NaN in a key?",
        meaning="Memory that was never written, as in a cache, makes everything NaN where masks are added.",
        setting="Zeros at what is masked.",
        sources=("pytorch/pytorch#101967",),
    ),
    Probe(
        name="NaN in a masked value",
        operation="attention",
        measure=lambda ask: _nan(ask, where=2),
        question="Does a mask keep out NaN in a value?",
        meaning="A weight of zero times NaN is NaN: a mask is no cure for broken values.",
        setting="Zeros at what is masked.",
        sources=("pytorch/pytorch#101967",),
    ),
    Probe(
        name="attention of float64",
        operation="attention",
        measure=_float64,
        question="Does the attention function compute in float64 where everything is float64?",
        meaning="A check against float64 sees float32's rounding, and may take it for a mistake.",
        setting="Attention composed of products and a softmax.",
    ),
    Probe(
        name="attention of a row with padding",
        operation="attention",
        measure=_row_with_padding,
        kind="noted",
        question="Does a row of 16 keys get the same bits when 8 masked ones follow?",
        meaning="Where not, what a model answers depends a little on how far its input was padded.",
        setting="The same padding; the processor matters as well.",
        sources=("huggingface/transformers#26869",),
    ),
    Probe(
        name="padding that leaves an encoder",
        operation="encoder",
        measure=_encoder_padding,
        question="What does a ready-made encoder give at padding, in evaluation and without gradients?",
        meaning="torch's fast path gives zeros there, and numbers in training: a mean over all positions changes.",
        setting="`enable_nested_tensor=False` in torch.",
        sources=("pytorch/pytorch#86120", "pytorch/pytorch#97111"),
    ),
)
