"""Pictures of layers for ``six ways``: small arrays that the NumPy backend has computed, so that no picture is made up."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from . import drawings_of_models, drawings_of_parity, drawings_of_training
from .pictures import Grid, Step, picture

B, T, S, D, H, F = 1, 4, 5, 6, 2, 9


def _layers() -> Any:
    from transformer_mb.backends import numpy as layers

    return layers


def _features(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def attention() -> str:
    """Scaled dot-product attention of four queries to five keys, of which the last two are padding."""
    queries, keys, values = _features(B, T, 3), _features(B, S, 3, seed=1), _features(B, S, 3, seed=2)
    layer = _layers().DotProductAttention(0.0)
    output = layer(queries, keys, values, np.array([3]), need_weights=True)[0]
    scores = queries[0] @ keys[0].T / np.sqrt(3)
    padding = np.broadcast_to(np.arange(S) >= 3, (T, S))
    first = [
        Grid("queries Q", ("T", "d"), queries[0]),
        Step("×"),
        Grid("keys Kᵀ", ("d", "S"), keys[0].T),
        Step("/ √d", arrow=True),
        Grid("scores", ("T", "S"), scores, "two keys are padding", hidden=padding),
    ]
    second = [
        Step("softmax", arrow=True),
        Grid("weights", ("T", "S"), layer.attention_weights[0], "each row sums to 1", hidden=padding),
        Step("×"),
        Grid("values V", ("S", "d"), values[0]),
        Step("="),
        Grid("output", ("T", "d"), output),
    ]
    title = "Attention of 4 queries to 5 keys: scores of every pair, padding crossed out, weights, and the mean of the values."
    return picture([first, second], title)


def multi_head() -> str:
    """The same by two heads: one product makes both, a reshape parts them, and W_o joins them again."""
    layer = _layers().MultiHeadAttention(D, D, D, D, H, 0.0)
    X = _features(B, T, D).astype(np.float32)
    output = layer(X, X, X, need_weights=True)[0]
    weights = layer.attention_weights[0]
    queries = layer.W_q(X)[0]
    half = D // H
    first = [
        Grid("X", ("T", "D"), X[0]),
        Step("W_q", arrow=True),
        Grid("queries", ("T", "D"), queries),
        Step("transpose_qkv", arrow=True),
        Grid("head 1", ("T", "D/H"), queries[:, :half]),
        Grid("head 2", ("T", "D/H"), queries[:, half:]),
    ]
    second = [
        Step("attention", arrow=True),
        Grid("weights of 1", ("T", "S"), weights[0]),
        Grid("weights of 2", ("T", "S"), weights[1]),
        Step("transpose_output, W_o", arrow=True),
        Grid("output", ("T", "D"), output),
    ]
    return picture(
        [first, second], "Two heads: each attends by half of the columns, in its own way, and W_o mixes the results."
    )


def feed_forward() -> str:
    """Feed each position forward by itself, wider and back."""
    layer = _layers().PositionWiseFFN(D, F, D)
    X = _features(B, T, D).astype(np.float32)
    hidden = layer.dense1(X)[0]
    row = [
        Grid("X", ("T", "D"), X[0]),
        Step("dense1", arrow=True),
        Grid("hidden", ("T", "F"), hidden),
        Step("ReLU", arrow=True),
        Grid("hidden", ("T", "F"), np.maximum(hidden, 0), "nothing below 0"),
        Step("dense2", arrow=True),
        Grid("output", ("T", "D"), layer(X)[0]),
    ]
    return picture(
        [row], "The feed-forward network treats each row alone: it widens it to F, cuts off below zero, and narrows it."
    )


def add_norm() -> str:
    """The residual and the norm of each row."""
    X, Y = _features(B, T, D), 3 * _features(B, T, D, seed=1) + 2
    Z = (X + Y)[0]
    row = [
        Grid("X", ("T", "D"), X[0]),
        Step("+"),
        Grid("sublayer's Y", ("T", "D"), Y[0]),
        Step("="),
        Grid("X + Y", ("T", "D"), Z),
        Step("norm of each row", arrow=True),
        Grid("output", ("T", "D"), _layers().LayerNorm(D)(Z[None])[0], "mean 0, deviation 1"),
    ]
    return picture(
        [row], "Add and norm: the sublayer's result is added to its input, and each row gets mean 0 and deviation 1."
    )


def positions() -> str:
    """The table of sinusoids, and what it adds."""
    table = _layers().PositionalEncoding(24, 0.0, max_len=12).P
    X = _features(B, T, D)
    small = _layers().PositionalEncoding(D, 0.0, max_len=12)
    first = [Grid("P, the table", ("positions", "D"), table, "fast waves at the left, slow ones at the right")]
    second = [
        Grid("X", ("T", "D"), X[0]),
        Step("+"),
        Grid("P from 0", ("T", "D"), small.P[:T]),
        Step("="),
        Grid("output", ("T", "D"), small(X)[0]),
    ]
    return picture(
        [first, second], "Sinusoidal positions: a row for each position, columns of falling frequency; X gets the first T."
    )


DRAWINGS = {
    "attention": attention,
    "multi-head": multi_head,
    "feed-forward": feed_forward,
    "add-norm": add_norm,
    "positions": positions,
    "encoder": drawings_of_models.encoder,
    "decoder": drawings_of_models.decoder,
    "loss": drawings_of_training.loss,
    "adam": drawings_of_training.adam,
    "beam-search": drawings_of_training.beam_search,
    "masks": drawings_of_models.masks,
    "cache": drawings_of_models.cache,
    "parity": drawings_of_parity.parity,
    "names": drawings_of_parity.names,
}


class Picture(SphinxDirective):
    """``picture``: the drawing of this name."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        if self.arguments[0] not in DRAWINGS:
            raise self.error(f"A picture must be one of {', '.join(DRAWINGS)}, got {self.arguments[0]}.")
        return [nodes.raw("", DRAWINGS[self.arguments[0]](), format="html")]
