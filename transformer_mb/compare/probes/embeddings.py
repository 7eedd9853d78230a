"""Embeddings: rows for padding, and ids that are none."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .reading import row_at

TABLE = np.arange(1, 4 * 64 + 1, dtype="float32").reshape(4, 64)


def _padding_output(embed_with_padding: Ask) -> str:
    output, _ = embed_with_padding(np.array([0, 1]), np.ones((4, 2), "float32"), 0)
    return {0.0: "zeros", 1.0: "what the row holds", -1.0: "negated"}.get(float(output[0, 0]), "another number")


def _padding_gradient(embed_with_padding: Ask) -> str:
    _, gradient = embed_with_padding(np.array([0, 1]), np.ones((4, 2), "float32"), 0)
    return {0.0: "none", 1.0: "like any other row", 2.0: "twice"}.get(float(gradient[0, 0]), "another number")


def _fresh_row(fresh_padding_row: Ask) -> str:
    row = fresh_padding_row(4, 64, 0)
    return "zeros" if not row.any() else "ones" if (row == 1).all() else "drawn"


def _row(embed: Ask, id: int) -> str:
    return row_at(lambda one: embed(np.array([1, one]), TABLE)[1], id, TABLE)


def _float_id(embed: Ask) -> str:
    row = embed(np.array([0.0, 1.9], "float32"), TABLE)[1]
    return {float(TABLE[1, 0]): "rounded down", float(TABLE[2, 0]): "rounded up"}.get(float(row[0]), "another row")


PROBES = (
    Probe(
        name="padding row of an embedding",
        operation="embed_with_padding",
        measure=_padding_output,
        question="What does a padding id give where the table's padding row holds ones?",
        meaning="A table that was trained elsewhere and has something in that row gives other vectors at padding.",
        setting="Zeros in that row.",
        sources=("pytorch.org/docs/stable/generated/torch.nn.Embedding.html",),
    ),
    Probe(
        name="gradient of a padding row",
        operation="embed_with_padding",
        measure=_padding_gradient,
        question="What gradient does the padding row get?",
        meaning="Where it gets one, padding learns, and the row no longer means nothing.",
        setting="`padding_idx` in torch and Paddle; Keras' `mask_zero` only makes a mask.",
        sources=("keras.io/api/layers/core_layers/embedding",),
    ),
    Probe(
        name="fresh padding row",
        operation="fresh_padding_row",
        measure=_fresh_row,
        question="What does the padding row of a new embedding hold?",
        meaning="Drawn numbers there are a word that says padding, and reach everything that does not mask.",
        setting="Zeros in that row.",
    ),
    Probe(
        name="embedding of an id that is too large",
        operation="embed",
        measure=lambda ask: _row(ask, len(TABLE)),
        question="What does an embedding of V rows give for the id V?",
        meaning="A tokenizer that is one entry too large fails at once, makes NaN, or trains the wrong row for ever.",
        setting="Check ids first.",
        sources=("tensorflow/tensorflow#27033", "tensorflow/tensorflow#62628"),
    ),
    Probe(
        name="embedding of the id -1",
        operation="embed",
        measure=lambda ask: _row(ask, -1),
        question="What does an embedding give for the id -1?",
        meaning="-1 often marks padding or an ignored target: it may be the last word, the first, or memory beside the table.",
        setting="Check ids first.",
        sources=("tensorflow/tensorflow#27033", "PaddlePaddle/Paddle#79510"),
    ),
    Probe(
        name="embedding of ids that are floats",
        operation="embed",
        measure=_float_id,
        question="What does an embedding do with the float id 1.9?",
        meaning="Ids that became float by accident are cut off in silence: a large one is another word.",
        setting="Integer ids.",
    ),
)
