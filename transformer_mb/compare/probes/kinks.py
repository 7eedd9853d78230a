"""Gradients where a function has a kink, a pole or a tie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..facts import Ask, Probe, Value
from .reading import worded

ZERO = np.zeros(1, "float32")


def _first(gradient: Any) -> Value:
    return worded(float(np.asarray(gradient).flat[0]), 4)


def _at_0(ask: Ask) -> Value:
    return _first(ask(ZERO.copy()))


def _tied(largest: Ask) -> str:
    """Name how tied elements share a gradient."""
    gradient = np.asarray(largest(np.array([[1.0, 3.0, 3.0, 3.0]], "float32")), np.float64).round(4)
    shares = {(0.3333,) * 3: "a third to each", (1.0,) * 3: "all to each", (0.0, 0.0, 1.0): "all to one"}
    return shares.get(tuple(sorted(gradient[0, 1:].tolist())), "another share")


PROBES = (
    Probe(
        name="gradient of relu at 0",
        operation="relu",
        measure=_at_0,
        kind="close",
        question="What is the gradient of ReLU at 0?",
        meaning="Units that begin at exactly 0, as with zero weights, stay dead or come to life.",
        setting="None; write max(x, 0) or a mask.",
    ),
    Probe(
        name="gradient of leaky relu at 0",
        operation="leaky_relu",
        measure=_at_0,
        kind="close",
        question="What is the gradient of leaky ReLU at 0: its slope, or 1?",
        meaning="Where inputs are exactly 0, as after a ReLU or in padding, gradients differ by the slope.",
        setting="None; write it with a comparison.",
    ),
    Probe(
        name="gradient of abs at 0",
        operation="absolute",
        measure=_at_0,
        kind="close",
        question="What is the gradient of |x| at 0?",
        meaning="An L1 penalty pushes weights that are exactly 0 away, or leaves them.",
        setting="None; multiply with a sign of your choice.",
    ),
    Probe(
        name="gradient of a tied maximum",
        operation="largest",
        measure=_tied,
        question="How do three equal largest elements share the gradient of the maximum of a whole array?",
        meaning="Given to each, the sum of the gradient is multiplied by the number of ties: frequent in max pooling of ReLUs.",
        setting="Select by argmax to give it to one; `amax` in torch and Paddle shares it.",
        sources=(
            "docs.pytorch.org/docs/stable/generated/torch.amax.html",
            "pytorch/pytorch#43519",
            "tensorflow/tensorflow#51681",
        ),
    ),
    Probe(
        name="gradient of a tied maximum along an axis",
        operation="largest_along",
        measure=_tied,
        question="How do three equal largest elements share the gradient of a maximum along an axis?",
        meaning="Max over time picks one of the equal steps, or spreads what it teaches.",
        setting="Select by argmax to give it to one; `amax` in torch and Paddle shares it.",
        sources=("docs.pytorch.org/docs/stable/generated/torch.amax.html", "pytorch/pytorch#155048"),
    ),
    Probe(
        name="gradient of maximum of equals",
        operation="larger",
        measure=lambda larger: _first(larger(np.ones(1, "float32"), np.ones(1, "float32"))),
        kind="close",
        question="Which gradient has the first argument of maximum(x, y) where both are equal?",
        meaning="Clipped objectives and hinge losses begin at such points.",
        setting="None; use a comparison.",
        sources=("pytorch/pytorch#56734",),
    ),
    Probe(
        name="gradient of clip at its bound",
        operation="clip",
        measure=lambda clip: _first(clip(np.ones(1, "float32"), -1.0, 1.0)),
        kind="close",
        question="Does a gradient pass where x lies exactly on the bound?",
        meaning="Parameters that were clipped to a bound can leave it, or never do.",
        setting="None; write a mask with < or <=.",
    ),
    Probe(
        name="gradient of a norm at 0",
        operation="norm",
        measure=lambda norm: _first(norm(np.zeros(3, "float32"))),
        kind="close",
        question="What is the gradient of the norm of a vector of zeros?",
        meaning="One row of zeros, such as padding, makes all weights NaN.",
        setting="Add an epsilon under the root, or replace zeros before the norm.",
        sources=("pytorch/pytorch#2775", "jax-ml/jax#21723"),
    ),
    Probe(
        name="gradient of std of equals",
        operation="deviation",
        measure=lambda deviation: _first(deviation(np.ones(3, "float32"))),
        kind="close",
        question="What is the gradient of the standard deviation of equal numbers?",
        meaning="A normalization that is written with the framework's std trains, or is NaN, on a constant row.",
        setting="The root of the variance plus an epsilon.",
    ),
    Probe(
        name="gradient of std of 2 and 0",
        operation="deviation",
        measure=lambda deviation: _first(deviation(np.array([2.0, 0.0], "float32"))),
        kind="close",
        question="Which gradient has the 2 in the standard deviation of 2 and 0: 0.5, or 0.7071 with n - 1?",
        meaning="What is neither is a gradient that training silently does without.",
        setting="The root of a mean of squares.",
    ),
    Probe(
        name="gradient of a product with a zero",
        operation="product",
        measure=lambda product: _first(product(np.array([0.0, 2.0, 3.0], "float32"))),
        kind="close",
        question="Which gradient has the 0 in the product of 0, 2 and 3? It is 6.",
        meaning="Computed as the product divided by the element it is NaN.",
        setting="Multiply the elements one by one.",
    ),
    Probe(
        name="gradient of x ** 0.0 at 0",
        operation="power",
        measure=lambda power: _first(power(ZERO.copy(), 0.0)),
        kind="close",
        question="What is the gradient of x to the power of 0.0 at 0?",
        meaning="A learned or scheduled exponent that reaches 0 can bring NaN.",
        setting="Keep the exponent, or x, away from 0.",
    ),
    Probe(
        name="gradient of logsumexp of nothing",
        operation="logsumexp",
        measure=lambda logsumexp: _first(logsumexp(np.full((1, 3), -np.inf, "float32"))),
        kind="close",
        question="What is the gradient of logsumexp where every element is minus infinity?",
        meaning="A row that is masked entirely makes all weights NaN, though its value is never used.",
        setting="Mask with a large negative number, not with minus infinity.",
    ),
)
