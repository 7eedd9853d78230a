"""Softmax and the linear layer: what they do at the edges of the numbers, and with a row's neighbors."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .reading import bits, named, rounded, spread


def _axis(softmax: Ask) -> str:
    axes = {"the first axis": 1 / 2, "the second axis": 1 / 3, "the last axis": 1 / 5, "every axis": 1 / 30}
    return named(softmax(np.zeros((2, 3, 5), "float32")), axes, "another axis", 1e-6)


def _subnormal(softmax: Ask) -> str:
    weight = float(softmax(np.array([[0.0, -100.0]], "float32"))[0, 1])
    words = {0.0: "zero", 4e-44: "kept", 2e-28: "larger", 1e-3: "a thousandth"}
    return words.get(rounded(weight, 1), "another number")


def _nan(softmax: Ask) -> str:
    row = np.zeros((1, 40), "float32")
    row[0, 20] = np.nan
    weights = softmax(row)
    if np.isinf(weights).any():
        return "infinity"
    found = float(np.isnan(weights).mean())
    return "NaN everywhere" if found == 1 else "NaN in some places" if found else "no NaN"


def _row_in_a_batch(linear: Ask) -> str:
    random = np.random.default_rng(0)
    X, weight = (random.standard_normal(shape).astype("float32") for shape in ((8, 256), (256, 256)))
    return bits(linear(X[:1], weight), linear(X, weight)[:1])


PROBES = (
    Probe(
        name="axis of softmax",
        operation="softmax",
        measure=_axis,
        question="Over which axis of three does softmax sum to one, unless told?",
        meaning="Over another axis weights of attention sum to one over the batch, and every shape is still right.",
        setting="`dim=` in torch, which warns, `axis=` elsewhere.",
    ),
    Probe(
        name="smallest weight of softmax",
        operation="softmax",
        measure=lambda softmax: rounded(float(softmax(np.array([[0.0, -200.0]], "float32"))[0, 1]), 2),
        kind="close",
        question="What does softmax make of a float32 score that lies 200 below the largest?",
        meaning="Where it is not zero, masked keys keep a trace: gradients, NaN and infinities leak through it.",
        setting="Set the weights to zero after softmax.",
        sources=("PaddlePaddle/Paddle#56834",),
    ),
    Probe(
        name="subnormal weight of softmax",
        operation="softmax",
        measure=_subnormal,
        kind="noted",
        question="Does softmax keep a float32 weight of 3.8e-44, below the smallest normal number?",
        meaning="Frameworks that flush it to zero give exact zeros earlier than the others.",
        setting="None; the processor matters as well.",
        sources=("data-apis/array-api#336",),
    ),
    Probe(
        name="softmax of -inf alone",
        operation="softmax",
        measure=lambda softmax: spread(softmax(np.full((1, 4), -np.inf, "float32"))[0]),
        question="What does softmax give a row of which every score is -inf?",
        meaning="A mask of -inf makes NaN of a row without any key.",
        setting="The lowest finite number in place of -inf.",
    ),
    Probe(
        name="NaN in a row of softmax",
        operation="softmax",
        measure=_nan,
        kind="noted",
        question="Where does one NaN among 40 scores show in the weights?",
        meaning="A softmax that loses it hides a broken model behind numbers that look right.",
        setting="Look for NaN before softmax.",
    ),
    Probe(
        name="masked softmax without any key",
        operation="masked_softmax",
        measure=lambda masked_softmax: spread(masked_softmax(np.ones((1, 2, 4), "float32"), np.array([[0, 2]]))[0, 0]),
        question="What does the framework's own masked softmax give a row that is masked as a whole?",
        meaning="It may answer otherwise than attention of the same framework.",
        setting="Set such rows to zero.",
    ),
    Probe(
        name="linear layer of a row in a batch of 8",
        operation="linear",
        measure=_row_in_a_batch,
        kind="noted",
        question="Does a row of 256 get the same bits from a linear layer alone and in a batch of 8?",
        meaning="One row is another routine than eight: what a model answers depends a little on what else was asked.",
        setting="The same batch size; the processor matters as well.",
        sources=("huggingface/transformers#2401",),
    ),
)
