"""Batch normalization: what it divides by, and what it remembers."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .reading import named, rounded

# Two rows of one channel: mean 2, variance 4 or, divided by n - 1, 8. Layers begin with mean 0 and variance 1.
ROWS = np.array([[0.0], [4.0]], "float32")
MEAN = 2.0
KERAS = "keras.io/api/layers/normalization_layers/batch_normalization"


def _epsilon(batch_norm: Ask) -> float:
    a = 1e-2
    output = float(np.asarray(batch_norm(np.array([[a], [-a]], "float32")), np.float64)[0, 0])
    return rounded((a / output) ** 2 - a**2, 2)


def _axis(batch_norm: Ask) -> str:
    """Vary the input along one axis alone: along the channels' axis that is the channels' means, and becomes zero."""
    along_1 = np.tile(np.array([0.0, 1.0, 5.0], "float32")[:, None], (2, 1, 3))
    if np.allclose(batch_norm(along_1), 0.0, atol=1e-4):
        along_2 = np.swapaxes(along_1, 1, 2)
        return "neither" if np.allclose(batch_norm(along_2), 0.0, atol=1e-4) else "axis 1"
    return "the last"


def _one_row(batch_norm: Ask) -> str:
    row = np.array([[3.0, 5.0]], "float32")
    return named(batch_norm(row), {"the row unchanged": row, "zeros": 0.0})


def _called(batch_norm_called: Ask) -> str:
    first = float(np.asarray(batch_norm_called(ROWS))[1, 0])
    return named(first, {"the batch's": 1.0, "the running ones": 4.0}, within=1e-2)


def _momentum(batch_norm_state: Ask) -> str:
    share = float(batch_norm_state(ROWS, momentum=0.25)[0][0]) / MEAN
    shares = {0.25: "the new batch", 0.75: "the old value"}
    return shares.get(round(share, 4), "neither")


def _forward(batch_norm_forward: Ask) -> str:
    mean = float(batch_norm_forward(ROWS)[0])
    return "moved" if mean > 0.0 else "not yet" if mean == 0.0 else "neither"


def _variance(batch_norm_state: Ask) -> str:
    mean, variance = batch_norm_state(ROWS, momentum=0.25)
    share = float(mean[0]) / MEAN
    new = (float(variance[0]) - (1 - share)) / share
    return {4.0: "n", 8.0: "n - 1"}.get(round(new, 3), "neither")


PROBES = (
    Probe(
        name="batch norm epsilon",
        operation="batch_norm",
        measure=_epsilon,
        kind="close",
        question="What does batch normalization add to the variance, unless told?",
        meaning="A channel of small variance comes out smaller with the larger epsilon.",
        setting="The layer's epsilon: `eps` in torch, `epsilon` elsewhere.",
        sources=(KERAS,),
    ),
    Probe(
        name="batch norm channels",
        operation="batch_norm",
        measure=_axis,
        question="Which axis of [batch, 3, 3] holds the channels?",
        meaning="On [batch, time, features] the layers of torch, MXNet and Paddle normalize time steps, not features.",
        setting="`axis=` in Keras, flax and MXNet, `data_format=` in Paddle; in torch transpose before and after.",
    ),
    Probe(
        name="batch norm of one row",
        operation="batch_norm",
        measure=_one_row,
        question="What does training on a batch of one row give?",
        meaning="The last, short batch of an epoch ends the run, or silently teaches from zeros.",
        setting="`drop_last=True`, or a layer that normalizes each row by itself.",
    ),
    Probe(
        name="batch norm only called",
        operation="batch_norm_called",
        measure=_called,
        question="Whose mean and variance does a fresh layer use that is only called?",
        meaning="A training loop written by hand never normalizes by the batch in one framework, and always does in another.",
        setting="`training=True` in Keras, `autograd.record()` in MXNet, `.train()` and `.eval()` elsewhere.",
        sources=(KERAS,),
    ),
    Probe(
        name="batch norm new share",
        operation="batch_norm_state",
        measure=lambda batch_norm_state: rounded(float(batch_norm_state(ROWS)[0][0]) / MEAN, 4),
        kind="close",
        question="How much of the running mean is replaced by a batch's, by default?",
        meaning="At 0.01 a batch is forgotten in 300 steps, at 0.1 in 30: a short training is evaluated by its first batches.",
        setting="`momentum`.",
        sources=("pytorch/pytorch#19902", KERAS),
    ),
    Probe(
        name="batch norm moved by the forward pass",
        operation="batch_norm_forward",
        measure=_forward,
        question="Has a forward pass in training mode moved the running mean, or must the backward pass follow?",
        meaning="Statistics that are estimated anew by forward passes alone, as for averaged weights, never change.",
        setting="Call the backward pass too; without a step it changes no weight.",
    ),
    Probe(
        name="batch norm momentum",
        operation="batch_norm_state",
        measure=_momentum,
        question="Does a momentum of 0.25 weigh the new batch or the old value?",
        meaning="0.9 carried from one framework to another forgets everything in two steps, or hardly learns.",
        setting="Give 1 - momentum.",
        sources=("pytorch/pytorch#19902", "pytorch/pytorch#77427", "PaddlePaddle/Paddle#32810"),
    ),
    Probe(
        name="batch norm running variance",
        operation="batch_norm_state",
        measure=_variance,
        question="Is the variance that is remembered divided by n or by n - 1?",
        meaning="Training and evaluation differ by sqrt(n / (n - 1)) where n, rows times positions, is small.",
        setting="None; scale the loaded statistics when weights are ported.",
        sources=("keras-team/keras#10443", "rwth-i6/returnn#1539"),
    ),
)
