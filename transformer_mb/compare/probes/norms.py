"""Normalization over the last axis: epsilons, the variance that is meant, and how exactly it is computed."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .reading import rounded

ROW = np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])
LAYER_NORM = "keras.io/api/layers/normalization_layers/layer_normalization"
RMS_NORM = "docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html"


def _epsilon(normalize: Ask, a: float, dtype: str) -> float:
    """Solve for epsilon: in a row of mean 0 and variance a * a, the first element becomes a / sqrt(a * a + epsilon)."""
    row = (a * ROW).astype(dtype)
    output = float(np.asarray(normalize(row), np.float64)[0, 0])
    a = float(row[0, 0])
    return (a / output) ** 2 - a**2


def _epsilon_precision(layer_norm_cast: Ask) -> str:
    """Find the type that the epsilon went through by its distance from the round number that it is written as."""
    found = _epsilon(layer_norm_cast, 1e-3, "float64")
    written = rounded(found, 2)
    for dtype in ("float64", "float32", "float16"):
        if abs(found - float(np.dtype(dtype).type(written))) < 1e-11 * written:
            return dtype
    return "none: off by more"


def _one_pass_error(layer_norm: Ask) -> float:
    """Return the largest difference from the layer's own output for the same deviations around 0, exact to 6e-8."""
    deviations = np.random.default_rng(0).standard_normal((16, 64))
    far = (deviations + 1e3).astype("float32")
    near = far.astype("float64") - far.astype("float64").mean(-1, keepdims=True)
    return float(np.abs(np.float64(layer_norm(far)) - np.float64(layer_norm(near.astype("float32")))).max())


def _number(layer_norm_of: Ask) -> str:
    X = np.random.default_rng(0).standard_normal((3, 4, 5, 2)).astype("float32")
    output = np.asarray(layer_norm_of(X, 2), np.float64)
    if np.allclose(output.mean(3), 0.0, atol=1e-4):
        return "the size of the last axis"
    return "an axis" if np.allclose(output.mean(2), 0.0, atol=1e-4) else "neither size nor axis"


def _of_0_and_2(ask: Ask) -> float:
    return rounded(float(ask(np.array([0.0, 2.0], "float32"))), 6)


PROBES = (
    Probe(
        name="layer norm epsilon",
        operation="layer_norm",
        measure=lambda layer_norm: rounded(_epsilon(layer_norm, 1e-2, "float32"), 2),
        kind="close",
        question="What does layer normalization add to the variance, unless told?",
        meaning="Where activations are small, weights that move with another epsilon make another model.",
        setting="The layer's epsilon: `eps` in torch, `epsilon` elsewhere; here `norm_eps`.",
        sources=(LAYER_NORM, "ml-explore/mlx#1049"),
    ),
    Probe(
        name="layer norm epsilon type",
        operation="layer_norm_cast",
        measure=_epsilon_precision,
        question="In which type is the epsilon held when the layer computes in float64?",
        meaning="Held in float32 it is off by some 3e-8 of itself: the layer is not the formula to float64's accuracy.",
        setting="None in the layer: compose it of a mean and a root where float64 must be exact.",
        sources=("PaddlePaddle/Paddle#78321",),
    ),
    Probe(
        name="layer norm at mean 1000",
        operation="layer_norm",
        measure=_one_pass_error,
        kind="noted",
        question="How far is a float32 row of mean 1000 and deviation 1 from the same row moved to mean 0?",
        meaning="Mean of squares less square of the mean loses the variance where the mean is large, as in residual streams.",
        setting="`use_fast_variance=False` in flax; elsewhere subtract a mean first.",
        sources=("keras-team/keras-core#866", "pytorch/pytorch#51102", "PaddlePaddle/Paddle#74060"),
    ),
    Probe(
        name="layer norm of float16",
        operation="layer_norm",
        measure=lambda layer_norm: layer_norm(ROW.astype("float16")).dtype.name,
        question="Which type comes out of a layer of default precision for a float16 input?",
        meaning="One float32 layer can raise the type of all that follows, or refuse a half model's activations.",
        setting="The layer's `dtype`, or cast the model as a whole.",
    ),
    Probe(
        name="layer norm number",
        operation="layer_norm_of",
        measure=_number,
        question="Is the number that the layer is made of the size of the last axis, or an axis?",
        meaning="LayerNorm(2) means one thing in one framework and another in the next, without an error where both exist.",
        setting="Name the argument: `normalized_shape=`, `num_features=`, `axis=`.",
        sources=(LAYER_NORM,),
    ),
    Probe(
        name="rms norm epsilon",
        operation="rms_norm",
        measure=lambda rms_norm: rounded(_epsilon(rms_norm, 1e-4, "float32"), 2),
        kind="close",
        question="What does RMS normalization of float32 add to the mean square, unless told?",
        meaning="Checkpoints trained with another epsilon give other activations where these are small.",
        setting="The layer's epsilon: `eps` in torch and Paddle, `epsilon` elsewhere; here `norm_eps`.",
        sources=(RMS_NORM, "pytorch/pytorch#142848"),
    ),
    Probe(
        name="rms norm epsilon in float16",
        operation="rms_norm",
        measure=lambda rms_norm: rounded(_epsilon(rms_norm, 1e-3, "float16"), 1),
        kind="close",
        question="What does RMS normalization of float16 add to the mean square, to one digit?",
        meaning="A default that follows the type changes the model when it is cast, or when the release changes.",
        setting="The layer's epsilon, given as a number.",
        sources=(RMS_NORM, "pytorch/pytorch#142848", "pytorch/pytorch#189581"),
    ),
    Probe(
        name="variance of 0 and 2",
        operation="variance",
        measure=_of_0_and_2,
        kind="close",
        question="Is a variance divided by n, which gives 1, or by n - 1, which gives 2?",
        meaning="A normalization written with the framework's variance is another one when it is ported.",
        setting="`correction=` in torch, `unbiased=` in Paddle, `ddof=` elsewhere.",
    ),
    Probe(
        name="deviation of 0 and 2",
        operation="deviation",
        measure=_of_0_and_2,
        kind="close",
        question="Is a standard deviation divided by n, which gives 1, or by n - 1, which gives 1.41421?",
        meaning="As for the variance: activations are scaled by sqrt(n / (n - 1)), most where n is small.",
        setting="`correction=` in torch, `unbiased=` in Paddle, `ddof=` elsewhere.",
    ),
)
