"""Random numbers: what layers begin with, what a seed gives, and what dropout does."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from ..facts import Ask, Probe
from .reading import rounded

SEED = 20170612
MANY = 100_000
SIZES = ((400, 100), (100, 400), (100, 100))
# Fourth moment by the squared variance: 1.8 if uniform, 2.4 if normal and cut at two deviations, 3 if normal.
FLATNESS = ((2.1, "uniform"), (2.7, "normal, cut"), (math.inf, "normal"))
RATE = 0.25


def _distribution(values: np.ndarray) -> str:
    values = np.asarray(values, np.float64)
    if values.std() == 0.0:
        return "zeros" if values.flat[0] == 0.0 else "constant"
    flatness = np.mean((values - values.mean()) ** 4) / values.var() ** 2
    return next(label for limit, label in FLATNESS if flatness < limit)


def _initial(drawn: Callable[[int, int], np.ndarray], first: str, second: str) -> str:
    """Name the distribution, and the size that its variance is inverse to, from draws for three pairs of sizes."""
    variances = []
    for sizes in SIZES:
        values = drawn(*sizes)
        variances.append(float(np.var(np.asarray(values, np.float64))))
    distribution = _distribution(values)
    if not any(variances):
        return distribution
    sizes_by_name = {
        "": lambda one, two: 1.0,
        first: lambda one, two: one,
        second: lambda one, two: two,
        f"mean of {first} and {second}": lambda one, two: (one + two) / 2,
    }
    for name, size in sizes_by_name.items():
        products = [variance * size(*sizes) for variance, sizes in zip(variances, SIZES, strict=True)]
        if max(products) > 1.1 * min(products):
            continue
        if not name:
            return f"{distribution}, standard deviation {rounded(math.sqrt(products[0]), 1):g}"
        return f"{distribution}, variance {Fraction(products[0]).limit_denominator(3)} / {name}"
    return f"{distribution}, another variance"


def _dense_bias(dense: Ask) -> str:
    """Draw for many outputs, enough to tell the distribution."""
    return _initial(lambda inputs, outputs: dense(inputs, 40 * outputs, seed=SEED)[1], "inputs", "outputs")


def _cut(truncated_normal: Ask) -> str:
    """Ask for a standard deviation of 0.02, and once for 4."""
    small = float(np.abs(truncated_normal(0.02, (MANY,), seed=SEED)).max()) / 0.02
    large = float(np.abs(truncated_normal(4.0, (MANY,), seed=SEED)).max())
    if rounded(small, 2) == 2.0:
        return "at 2 standard deviations"
    return "at 2, whatever the deviation" if rounded(large, 2) == 2.0 else f"at {small:.1f} standard deviations"


def _deviation(truncated_normal: Ask) -> str:
    found = float(np.asarray(truncated_normal(0.02, (MANY,), seed=SEED), np.float64).std()) / 0.02
    return {0.88: "0.88 of what is asked", 1.0: "as asked"}.get(rounded(found, 2), f"{found:.2f} of what is asked")


def _uniform_bits(uniform: Ask) -> str:
    bits = np.asarray(uniform(4, seed=SEED)).astype("float32").view("uint32")
    return " ".join(f"{int(value):08x}" for value in bits)


def _equal(pair: tuple[np.ndarray, np.ndarray]) -> str:
    """Compare to five digits: the last one may differ with the width of a processor's vectors."""
    if np.isnan(pair).any():
        return "no numbers"
    return "the same numbers" if np.allclose(*pair, rtol=1e-5, atol=0.0) else "other numbers"


def _resolution(uniform: Ask) -> float:
    """Count the binary digits after the point that hold all the numbers, at most 60."""
    numbers = np.asarray(uniform(MANY, seed=SEED)).astype("float64")
    return next(float(digits) for digits in range(60) if not np.any(np.modf(np.ldexp(numbers, digits))[0]))


def _ones() -> np.ndarray:
    return np.ones((100, 100), "float32")


def _dropout_rate(dropout: Ask) -> str:
    zeros = float(np.mean(np.asarray(dropout(_ones(), RATE, True, seed=SEED)) == 0.0))
    return {RATE: "what is dropped", 1 - RATE: "what is kept"}.get(round(zeros * 20) / 20, f"drops {zeros:.2f}")


def _dropout_scale(dropout: Ask) -> str:
    training, after = (np.asarray(dropout(_ones(), RATE, mode, seed=SEED)).max() for mode in (True, False))
    if np.isclose(after, 1.0):
        return "in training" if np.isclose(training, 1 / (1 - RATE)) else "never"
    return "at inference" if np.isclose(training, 1.0) and np.isclose(after, 1 - RATE) else "elsewhere"


def _dropout_of_all(dropout: Ask) -> str:
    output = np.asarray(dropout(_ones(), 1.0, True, seed=SEED))
    words = {"NaN": np.isnan(output).any(), "zeros": not output.any(), "infinite": np.isinf(output).any()}
    return next((word for word, holds in words.items() if holds), "numbers")


PROBES = (
    Probe(
        name="dense weights",
        operation="dense",
        measure=lambda dense: _initial(lambda inputs, outputs: dense(inputs, outputs, seed=SEED)[0], "inputs", "outputs"),
        question="What does a dense layer begin with, unless told?",
        meaning="A variance of 1/3 by the inputs halves the signal per layer; a constant one depends on the width.",
        setting="`kernel_initializer`, `kernel_init`, `weight_attr`, `weight_initializer` or `torch.nn.init`.",
        sources=("arxiv.org/abs/1502.01852", "proceedings.mlr.press/v9/glorot10a.html"),
    ),
    Probe(
        name="dense bias",
        operation="dense",
        measure=_dense_bias,
        question="What does a dense layer's bias begin with, unless told?",
        meaning="A port that copies the weights alone is off by it.",
        setting="`bias_initializer`, `bias_init`, `bias_attr` or `torch.nn.init`.",
    ),
    Probe(
        name="embedding weights",
        operation="embedding",
        measure=lambda embedding: _initial(partial(embedding, seed=SEED), "vocabulary", "size"),
        question="What does an embedding begin with, unless told?",
        meaning="Times sqrt(size), as in the Transformer, words drown the positions beside them or are drowned.",
        setting="`embeddings_initializer`, `embedding_init`, `weight_attr`, `weight_initializer` or `torch.nn.init`.",
    ),
    Probe(
        name="truncated normal cut",
        operation="truncated_normal",
        measure=_cut,
        question="Where is a truncated normal distribution of standard deviation 0.02 cut, unless told?",
        meaning="Cut at 2 itself nothing is ever cut; the weights are plainly normal.",
        setting="`a=-2 * std, b=2 * std` in torch.",
        sources=("huggingface/pytorch-image-models#1286", "google/flax#4091"),
    ),
    Probe(
        name="truncated normal deviation",
        operation="truncated_normal",
        measure=_deviation,
        question="Has a truncated normal distribution the standard deviation that is asked for?",
        meaning="The cut takes 12 % of it, in every layer, unless somebody divides by 0.88.",
        setting="A standard deviation divided by 0.87962566.",
        sources=("google/flax#4091", "huggingface/pytorch-image-models#1286"),
    ),
    Probe(
        name="one initializer called twice",
        operation="initialized_twice",
        measure=lambda initialized_twice: _equal(initialized_twice((10, 10))),
        question="Does an initializer give two layers the same numbers?",
        meaning="Layers that begin alike learn alike.",
        setting="One initializer per layer, or one with a `keras.random.SeedGenerator`.",
        sources=("keras.io/api/layers/initializers",),
    ),
    Probe(
        name="a seed's uniform numbers",
        operation="uniform",
        measure=_uniform_bits,
        question="Which uniform numbers does the seed 20170612 begin with, as bits of float32?",
        meaning="Where they change between versions, every seeded run of old cannot be had again.",
        setting="`jax_threefry_partitionable=False` for those of JAX before 0.5.",
        sources=("jax-ml/jax#13346", "jax-ml/jax#26019"),
    ),
    Probe(
        name="a seed's normal numbers",
        operation="normal",
        measure=lambda normal: " ".join(f"{float(value):.4f}" for value in normal(4, seed=SEED)),
        question="Which normal numbers does the seed 20170612 begin with, to four digits?",
        meaning="Where they change between versions, every seeded run of old cannot be had again.",
        setting="`jax_threefry_partitionable=False` for those of JAX before 0.5.",
        sources=("jax-ml/jax#13346", "jax-ml/jax#26019"),
    ),
    Probe(
        name="a longer draw's beginning",
        operation="normal",
        measure=lambda normal: _equal((normal(8, seed=SEED), normal(1000, seed=SEED)[:8])),
        question="Does a longer draw of normal numbers begin with those of a shorter one of the same seed?",
        meaning="If not, another batch size gives the first sentences other noise.",
        setting="Draw the longest once, and take its beginning.",
    ),
    Probe(
        name="uniform numbers' digits",
        operation="uniform",
        measure=_resolution,
        question="How many binary digits have uniform float32 numbers of [0, 1)?",
        meaning="The smallest one above 0 bounds what -log(-log(u)) and other samplers can reach.",
        setting="Draw in float64.",
    ),
    Probe(
        name="two draws after one seed",
        operation="uniform_twice",
        measure=lambda uniform_twice: _equal(uniform_twice(100, seed=SEED)),
        question="Do two draws without a new seed between them give the same numbers?",
        meaning="A key that is used twice drops the same neurons in two layers.",
        setting="`jax.random.split`, or `nnx.Rngs`.",
        sources=("docs.jax.dev/en/latest/random-numbers.html",),
    ),
    Probe(
        name="dropout rate",
        operation="dropout",
        measure=_dropout_rate,
        question="Is dropout's rate what is dropped, or what is kept?",
        meaning="At 0.1 the one is a model, the other is noise.",
        setting="One less the rate.",
        sources=("arxiv.org/abs/1207.0580",),
    ),
    Probe(
        name="dropout scale",
        operation="dropout",
        measure=_dropout_scale,
        question="Is what dropout keeps scaled up in training, or everything scaled down at inference?",
        meaning="A model trained with the one and served with the other is off by the rate in every layer.",
        setting="`mode` of `paddle.nn.Dropout`.",
    ),
    Probe(
        name="dropout of all",
        operation="dropout",
        measure=_dropout_of_all,
        question="What does dropout with a rate of 1 give in training?",
        meaning="NaN where the scale 1 / (1 - rate) is multiplied with zero.",
        setting="Check the rate before.",
    ),
)
