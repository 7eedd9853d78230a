"""Activations: which formula, which slope, over which axis."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Ask, Probe
from .reading import named, rounded, sort_of

# Where the tanh formula is farthest from the exact one, by 4.7e-4.
FARTHEST = 2.7
GELU = {
    "exact": FARTHEST * 0.5 * (1 + math.erf(FARTHEST / math.sqrt(2))),
    "tanh": FARTHEST * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (FARTHEST + 0.044715 * FARTHEST**3))),
}


def _at(activation: Ask, x: float, dtype: str = "float32") -> float:
    return float(np.asarray(activation(np.array([[x]], dtype)))[0, 0])


def _gelu(gelu: Ask) -> str:
    return named(_at(gelu, FARTHEST), GELU, within=2e-5)


def _slope(leaky_relu: Ask) -> float:
    return rounded(0.0 - _at(leaky_relu, -1.0), 4)


def _softplus(softplus: Ask) -> str:
    """Compare with ln(1 + exp(20.5)), which is 20.5 + 1.25e-9."""
    above = _at(softplus, 20.5, "float64") - 20.5
    if above == 0.0:
        return "the identity above 20"
    return "the formula" if math.isclose(above, math.log1p(math.exp(-20.5)), rel_tol=1e-4) else "neither"


PROBES = (
    Probe(
        name="gelu function",
        operation="gelu",
        measure=_gelu,
        question="Is the GELU function the exact one, or its approximation by tanh, unless told?",
        meaning="Up to 5e-4 in each activation: a ported checkpoint agrees to three digits and never to more.",
        setting='`approximate=` in torch ("none" or "tanh"), Paddle, JAX and Keras (True or False).',
        sources=("goodfire-ai/spd#624", "tinygrad/tinygrad#16162", "docs.jax.dev/en/latest/_autosummary/jax.nn.gelu.html"),
    ),
    Probe(
        name="gelu layer",
        operation="gelu_layer",
        measure=_gelu,
        question="Is the GELU layer, or the activation that a layer takes by name, exact or by tanh, unless told?",
        meaning="Where function and layer of one framework differ, a rewrite inside the framework changes the model.",
        setting="`approximate=` of the layer; in Keras `lambda x: keras.activations.gelu(x, approximate=True)`.",
        sources=("goodfire-ai/spd#624",),
    ),
    Probe(
        name="leaky relu function",
        operation="leaky_relu",
        measure=_slope,
        kind="close",
        question="Which slope does the leaky ReLU function have below zero?",
        meaning="Negative activations are scaled by up to 30 times as much as in another framework.",
        setting="`negative_slope`; `slope` in MXNet.",
    ),
    Probe(
        name="leaky relu layer",
        operation="leaky_relu_layer",
        measure=_slope,
        kind="close",
        question="Which slope does the leaky ReLU layer have below zero?",
        meaning="Function and layer of one framework need not agree.",
        setting="`negative_slope`; `alpha` in MXNet.",
        sources=("keras.io/api/layers/activation_layers/leaky_relu",),
    ),
    Probe(
        name="prelu first slope",
        operation="prelu_layer",
        measure=_slope,
        kind="close",
        question="At which slope does a PReLU layer begin to learn?",
        meaning="At 0 it begins as a ReLU, whose negative side passes no gradient on.",
        setting="`init=` in torch and Paddle, `alpha_initializer=` in Keras and MXNet, `negative_slope_init=` in flax.",
    ),
    Probe(
        name="hard sigmoid at 1",
        operation="hard_sigmoid",
        measure=lambda hard_sigmoid: rounded(_at(hard_sigmoid, 1.0), 4),
        kind="close",
        question="Is the hard sigmoid x / 6 + 0.5, which gives 0.6667, or 0.2 x + 0.5, which gives 0.7?",
        meaning="Gates of mobile networks and old LSTM checkpoints open by other amounts.",
        setting="`slope=` in Paddle, `alpha=` in MXNet; elsewhere write it out.",
        sources=("keras.io/api/layers/activations",),
    ),
    Probe(
        name="elu floor",
        operation="elu",
        measure=lambda elu: rounded(_at(elu, -30.0), 4),
        kind="close",
        question="How low does the ELU function go?",
        meaning="Its alpha scales all negative activations.",
        setting="`alpha`; `slope` in MXNet, whose ELU layer has 1.",
    ),
    Probe(
        name="softplus of 20.5 in float64",
        operation="softplus",
        measure=_softplus,
        question="Is a softplus its formula where it comes near the identity?",
        meaning="Beyond a threshold it may be the identity: a float64 comparison sees 1e-9, and second derivatives end there.",
        setting="`threshold=` in torch and Paddle.",
        sources=("docs.pytorch.org/docs/stable/generated/torch.nn.Softplus.html",),
    ),
    Probe(
        name="relu of NaN",
        operation="relu",
        measure=lambda relu: sort_of(_at(relu, math.nan), "a number"),
        question="What becomes of NaN in a ReLU?",
        meaning="A ReLU that makes zero of it hides a model that has broken down.",
        setting="None; check activations before it.",
        sources=("PaddlePaddle/Paddle#79351", "pytorch/pytorch#7999"),
    ),
)
