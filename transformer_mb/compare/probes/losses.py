"""Losses: what a mean is over, what is meant by scores, and what happens at the ends."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Ask, Probe
from .reading import mean, named, rounded, worded

BINARY = "docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html"
KERAS = "keras.io/api/losses/probabilistic_losses"


def _binary_scores(binary_cross_entropy: Ask) -> str:
    loss = mean(binary_cross_entropy(np.array([[0.7]], "float32"), np.array([[1.0]], "float32")))
    return named(loss, {"probabilities": -math.log(0.7), "logits": math.log1p(math.exp(-0.7))})


def _error_of_2(loss: Ask) -> float:
    return rounded(mean(loss(np.array([[2.0]], "float32"), np.array([[0.0]], "float32"))), 4)


def _column_and_row(squared_error: Ask) -> str:
    """Compare predictions [3, 1] with equal targets [3]: an error shows that each is paired with every other."""
    targets = np.array([0.0, 1.0, 2.0], "float32")
    loss = mean(squared_error(targets[:, None], targets))
    if loss == 0.0:
        return "zero"
    pairs = float(np.square(targets[:, None] - targets).mean())
    return "pairs each with every other" if round(loss / pairs, 4) in (1.0, 0.5) else "neither"


def _per(kl_divergence: Ask) -> str:
    targets = np.array([[0.5, 0.5], [0.5, 0.5]], "float32")
    predictions = np.array([[0.25, 0.75], [0.25, 0.75]], "float32")
    row = float(np.sum(targets[0] * np.log(targets[0] / predictions[0])))
    return {1.0: "rows", 0.5: "elements"}.get(round(mean(kl_divergence(predictions, targets)) / row, 3), "neither")


PROBES = (
    Probe(
        name="binary cross-entropy takes",
        operation="binary_cross_entropy",
        measure=_binary_scores,
        question="Does the loss that is named for binary cross-entropy take logits or probabilities, by default?",
        meaning="The wrong one trains, badly, and raises nothing while scores are between 0 and 1.",
        setting="`binary_cross_entropy_with_logits` in torch and Paddle, `from_logits=True` in Keras.",
        sources=(BINARY, KERAS),
    ),
    Probe(
        name="binary cross-entropy of a certain mistake",
        operation="binary_cross_entropy_probabilities",
        measure=lambda binary: rounded(mean(binary(np.array([[0.0]], "float32"), np.array([[1.0]], "float32"))), 4),
        kind="close",
        question="What is the loss of probability 0 for what is true?",
        meaning="It is infinite; frameworks clip the probability or its logarithm, each elsewhere.",
        setting="Give logits.",
        sources=(BINARY,),
    ),
    Probe(
        name="gradient of a certain mistake",
        operation="binary_cross_entropy_gradient",
        measure=lambda gradient: worded(mean(gradient(np.array([[0.0]], "float32"), np.array([[1.0]], "float32"))), 3),
        kind="close",
        question="What is the gradient of binary cross-entropy at probability 0 for what is true?",
        meaning="Clipping can make it zero, so that the worst mistakes teach nothing, or enormous.",
        setting="Give logits.",
        sources=(BINARY,),
    ),
    Probe(
        name="squared error of 2",
        operation="squared_error",
        measure=_error_of_2,
        kind="close",
        question="Is the L2 loss of an error of 2 the square, 4, or half of it?",
        meaning="Half of it is half the gradient, or half the learning rate.",
        setting="Multiply; in optax `squared_error`.",
    ),
    Probe(
        name="squared error of a column and a row",
        operation="squared_error",
        measure=_column_and_row,
        question="Predictions [3, 1] equal targets [3]: is the loss zero, or is each paired with every other?",
        meaning="Paired with every other, a regression learns the mean of the batch, and its loss still falls.",
        setting="Bring both to one shape first.",
    ),
    Probe(
        name="huber of 2",
        operation="huber",
        measure=_error_of_2,
        kind="close",
        question="What is the Huber loss of an error of 2? It is 1.5 where the line begins at 1.",
        meaning="Another beginning of the line weighs outliers otherwise.",
        setting="`delta`; `rho` in MXNet.",
    ),
    Probe(
        name="kl divergence mean over",
        operation="kl_divergence",
        measure=_per,
        question="Is the mean of the Kullback-Leibler divergence over rows or over all elements?",
        meaning="Over elements the loss, as in distillation, is weaker by the number of classes.",
        setting='`reduction="batchmean"` in torch and Paddle.',
        sources=("docs.pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html",),
    ),
)
