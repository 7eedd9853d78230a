"""Optimizers and clipping: where epsilon stands, what weight decay and momentum do, and what is clipped."""

from __future__ import annotations

import math

import numpy as np

from ..facts import Ask, Probe
from .reading import float32, rounded, sort_of

BETA2 = 0.999  # of Adam in every framework
NOTHING = 1e-9  # what float32 leaves of an epsilon that is not there


def _change(optimizer: Ask, gradients: list[float], learning_rate: float = 1.0) -> np.ndarray:
    """Return the amount that each step takes from a weight that begins at 0."""
    after = np.asarray(optimizer(float32(0.0), [float32(gradient) for gradient in gradients], learning_rate), np.float64)
    return -np.diff(after[:, 0], prepend=0.0)


def _adam_epsilons(adam: Ask) -> tuple[float, float, float]:
    """Return the epsilon e of g / (g + e) at steps 1 and 2 for g = 1e-7, and at step 1 for g = 1e-6."""
    first, second = _change(adam, [1e-7, 1e-7])
    (larger,) = _change(adam, [1e-6])
    return 1e-7 * (1.0 / first - 1.0), 1e-7 * (1.0 / second - 1.0), 1e-6 * (1.0 / larger - 1.0)


def _adam_epsilon_place(adam: Ask) -> str:
    first, second, larger = _adam_epsilons(adam)
    if not math.isclose(first, larger, rel_tol=0.02):
        return "inside the root"
    if math.isclose(first, second, rel_tol=0.02):
        return "after the bias correction"
    correction = math.sqrt((1 - BETA2) / (1 - BETA2**2))
    return "before the bias correction" if math.isclose(second / first, correction, rel_tol=0.02) else "elsewhere"


def _adam_epsilon(adam: Ask) -> float:
    first, second, _ = _adam_epsilons(adam)
    return rounded(first if math.isclose(first, second, rel_tol=0.02) else first * math.sqrt(1 - BETA2), 2)


def _first_change_by_default(optimizer: Ask) -> float:
    return rounded(-float(optimizer(float32(0.0), [float32(1.0)])[0, 0]), 3)


def _adam_weight_decay(adam: Ask) -> str:
    """Decay a weight of 1 with a gradient of 0, at a learning rate of 0.1 and a decay of 0.01."""
    change = 1.0 - float(adam(float32(1.0), [float32(0.0)], 0.1, 0.01)[0, 0])
    labels = {0.1: "into the gradient", 0.001: "decoupled, times the learning rate", 0.01: "decoupled, the rate left out"}
    return next(
        (label for size, label in labels.items() if math.isclose(change, size, rel_tol=0.02)), f"changes by {change:.2g}"
    )


def _decay(adamw: Ask, learning_rate: float) -> float:
    return 1.0 - float(adamw(float32(1.0), [float32(0.0)], learning_rate)[0, 0])


def _adamw_rate(adamw: Ask) -> str:
    ratio = _decay(adamw, 1.0) / _decay(adamw, 0.25)
    return {4.0: "times the learning rate", 1.0: "the learning rate left out"}.get(rounded(ratio, 1), f"{ratio:.1g} times")


def _rmsprop_denominator(rmsprop: Ask, gradient: float) -> float:
    return gradient / _change(rmsprop, [gradient])[0]


def _rmsprop_epsilon_place(rmsprop: Ask) -> str:
    """Take a gradient whose root mean square equals the divisor that epsilon alone makes."""
    alone, root = _rmsprop_denominator(rmsprop, 1e-12), _rmsprop_denominator(rmsprop, 1.0)
    ratio = _rmsprop_denominator(rmsprop, alone / root) / alone
    return {2.0: "outside the root", 1.4: "inside the root", 1.0: "as a floor"}.get(rounded(ratio, 2), "elsewhere")


def _rmsprop_epsilon(rmsprop: Ask) -> float:
    alone = _rmsprop_denominator(rmsprop, 1e-12)
    return rounded(alone**2 if _rmsprop_epsilon_place(rmsprop) == "inside the root" else alone, 2)


def _adagrad_start(adagrad: Ask) -> float:
    found = (0.1 / _change(adagrad, [0.1])[0]) ** 2 - 0.1**2
    return rounded(found, 2) if found > 1e-5 else 0.0


def _momentum(sgd: Ask) -> str:
    """Give a gradient of 1 at a learning rate of 1, then none at 0.1, and see what is left of the first."""
    after = np.asarray(sgd(float32(0.0), [float32(1.0), float32(0.0)], 1.0, 0.9, rates=(1.0, 0.1)))
    second = float(np.diff(after[:, 0])[0])
    return {0.9: "the learning rate of its time", 0.09: "the learning rate of now"}.get(rounded(-second, 2), f"{-second:.2g}")


def _clipped_together(clip: Ask) -> str:
    large, small = (np.asarray(one) for one in clip([float32(3.0, 4.0), float32(0.3, 0.4)], 1.0))
    if np.allclose(small, [0.3, 0.4], rtol=1e-4):
        return "each variable's own" if np.allclose(large, [0.6, 0.8], rtol=1e-4) else "the largest variable's"
    return "all variables' together" if np.allclose(small / large, 0.1, rtol=1e-4) else "another"


def _clip_epsilon(clip: Ask) -> float:
    """Solve for epsilon: g = 2e-6 clipped to 1e-6 becomes g 1e-6 / (g + epsilon)."""
    found = 2e-6 * 1e-6 / float(clip([float32(2e-6)], 1e-6)[0][0]) - 2e-6
    return rounded(found, 2) if abs(found) > NOTHING else 0.0


def _clip_infinite(clip: Ask) -> str:
    infinite, finite = (sort_of(float(one[0]), "finite") for one in clip([float32(np.inf), float32(1.0)], 1.0))
    return f"{infinite}, the others {finite}"


PROBES = (
    Probe(
        name="Adam epsilon place",
        operation="adam",
        measure=_adam_epsilon_place,
        question="Where does Adam add its epsilon?",
        meaning="Before the bias correction it acts as one 32 times as large at the first step, and shrinks for thousands.",
        setting="No switch; the one is the other with an epsilon that is multiplied by sqrt(1 - beta2^t) at step t.",
        sources=("keras-team/tf-keras#315", "arxiv.org/abs/1412.6980"),
    ),
    Probe(
        name="Adam epsilon",
        operation="adam",
        measure=_adam_epsilon,
        kind="close",
        question="What is Adam's epsilon, unless told?",
        meaning="Gradients near it move weights by less than the learning rate; large models have many of them.",
        setting="Adam's `eps` (torch, optax) or `epsilon`; here `eps` of the trainer's options.",
        sources=("keras-team/tf-keras#315",),
    ),
    Probe(
        name="Adam learning rate",
        operation="adam_by_default",
        measure=_first_change_by_default,
        kind="close",
        question="What is Adam's learning rate, unless told?",
        meaning="A first step of Adam moves every weight by it.",
        setting="`lr` in torch, `learning_rate` elsewhere.",
    ),
    Probe(
        name="SGD learning rate",
        operation="sgd_by_default",
        measure=_first_change_by_default,
        kind="close",
        question="What is the learning rate of SGD, unless told?",
        meaning="The same script with another default trains ten times as fast or slowly.",
        setting="`lr` in torch, `learning_rate` elsewhere.",
        sources=("pytorch/pytorch#114467",),
    ),
    Probe(
        name="Adam weight decay",
        operation="adam_with_weight_decay",
        measure=_adam_weight_decay,
        question="What does Adam do with the weight decay that it is given?",
        meaning="Added to the gradient, Adam's root divides it: a weight without gradient moves by a whole learning rate.",
        setting="AdamW for the decoupled one in torch and Paddle; add it to the loss for the other in Keras.",
        sources=(
            "pytorch/pytorch#48793",
            "pytorch/pytorch#38767",
            "google-deepmind/optax#417",
            "arxiv.org/abs/1711.05101",
            "keras-team/keras#19051",
        ),
    ),
    Probe(
        name="AdamW weight decay",
        operation="adamw",
        measure=lambda adamw: rounded(_decay(adamw, 1.0), 1),
        kind="close",
        question="How much does AdamW decay, unless told?",
        meaning="Weights shrink a hundred times as fast under one default as under another.",
        setting="AdamW's `weight_decay`.",
        sources=("arxiv.org/abs/1711.05101",),
    ),
    Probe(
        name="AdamW weight decay and learning rate",
        operation="adamw",
        measure=_adamw_rate,
        question="Is AdamW's decay multiplied by the learning rate?",
        meaning="Where it is not, as in the paper, a learning rate's schedule leaves the decay alone.",
        setting="A decay divided by the learning rate where it is multiplied.",
        sources=("NVIDIA/apex#1849", "arxiv.org/abs/1711.05101"),
    ),
    Probe(
        name="RMSprop rho",
        operation="rmsprop",
        measure=lambda rmsprop: rounded(1.0 - _rmsprop_denominator(rmsprop, 1.0) ** 2, 2),
        kind="close",
        question="How much of the mean square does RMSprop keep per step, unless told?",
        meaning="The first steps are 1 / sqrt(1 - rho) learning rates long: 3 at 0.9, 10 at 0.99.",
        setting="`alpha` in torch, `decay` in optax, `gamma1` in MXNet, `rho` elsewhere.",
        sources=("pytorch/pytorch#23796", "google-deepmind/optax#532", "jax-ml/jax#1427"),
    ),
    Probe(
        name="RMSprop epsilon place",
        operation="rmsprop",
        measure=_rmsprop_epsilon_place,
        question="Is RMSprop's epsilon inside the root or outside?",
        meaning="Inside, 1e-8 works like 1e-4 outside: small gradients are no longer made equal.",
        setting="`eps_in_sqrt` in optax; else an epsilon squared, or its root.",
        sources=("pytorch/pytorch#23796", "google-deepmind/optax#532", "jax-ml/jax#1427"),
    ),
    Probe(
        name="RMSprop epsilon",
        operation="rmsprop",
        measure=_rmsprop_epsilon,
        kind="close",
        question="What is RMSprop's epsilon, unless told?",
        meaning="With its place it decides below which gradient steps shrink.",
        setting="`eps` in torch and optax, `epsilon` elsewhere.",
    ),
    Probe(
        name="Adagrad start",
        operation="adagrad",
        measure=_adagrad_start,
        kind="close",
        question="What does Adagrad's sum of squares begin at?",
        meaning="From 0 a first step is a whole learning rate; from 0.1 it is as small as the gradient.",
        setting="`initial_accumulator_value`.",
        sources=("keras.io/api/optimizers/adagrad",),
    ),
    Probe(
        name="Adagrad first step",
        operation="adagrad",
        measure=lambda adagrad: rounded(_change(adagrad, [1e-6])[0], 2),
        kind="close",
        question="How long is Adagrad's first step for a gradient of 1e-6, in learning rates?",
        meaning="Start and epsilon together: rare words' embeddings learn fast or hardly at all.",
        setting="`initial_accumulator_value` and the epsilon.",
    ),
    Probe(
        name="momentum under a schedule",
        operation="sgd_with_momentum",
        measure=_momentum,
        question="Which learning rate do older gradients in SGD's momentum carry?",
        meaning="When the rate falls, steps go on at the old one for a while, or fall at once.",
        setting="No switch; where the rate is inside, scale the stored velocity by the new rate over the old.",
        sources=("pytorch/pytorch#1099", "arxiv.org/abs/1706.02677"),
    ),
    Probe(
        name="clipping by norm",
        operation="clip_by_norm",
        measure=_clipped_together,
        question="Whose norm does clipping by norm hold down?",
        meaning="Per variable it turns the gradient's direction; of all together it keeps it.",
        setting="`global_clipnorm` in Keras, `ClipGradByGlobalNorm` in Paddle.",
        sources=(
            "tensorflow/tensorflow#29108",
            "tensorflow/tensorflow#36001",
            "tensorflow/tensorflow#52348",
            "keras-team/keras#13575",
        ),
    ),
    Probe(
        name="clipping epsilon",
        operation="clip_by_global_norm",
        measure=_clip_epsilon,
        kind="close",
        question="What does clipping by the global norm add to the norm?",
        meaning="Clipped gradients are shorter than asked for, by half where the norm allowed is as small as this.",
        setting="None; larger norms hide it.",
    ),
    Probe(
        name="clipping an infinite gradient",
        operation="clip_by_global_norm",
        measure=_clip_infinite,
        question="What is left of the gradients when one of them is infinite and all are clipped?",
        meaning="NaN everywhere ends a run at one overflow; zeros elsewhere skip the step but for that weight.",
        setting="Look at the norm before the step; `error_if_nonfinite=True` in torch.",
    ),
)
