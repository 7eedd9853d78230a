"""Weights, inputs and lengths drawn by the seed, of the kinds that hide mistakes: equal, tied, tiny, huge, absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...config import TransformerConfig
from ...parameters import Shapes, parameter_shapes
from ...random_streams import stream

Random = np.random.Generator
Shape = tuple[int, ...]


def _equal_steps(random: Random, shape: Shape) -> np.ndarray:
    """Make all steps of a row the same vector."""
    return np.repeat(random.standard_normal((*shape[:-2], 1, shape[-1])), shape[-2], axis=-2)


def _equal_features(random: Random, shape: Shape) -> np.ndarray:
    """Make each vector one number again and again: it has no variance."""
    return np.repeat(random.standard_normal((*shape[:-1], 1)), shape[-1], axis=-1)


def _tied(random: Random, shape: Shape) -> np.ndarray:
    """A few different numbers, so that the largest is often there twice."""
    return np.round(random.standard_normal(shape))


def _around_1000(random: Random, shape: Shape) -> np.ndarray:
    """Draw values of one sign, too large for an exponential of any dtype."""
    return 1000.0 + random.standard_normal(shape)


def _scaled(scale: float) -> Callable[[Random, Shape], np.ndarray]:
    return lambda random, shape: scale * random.standard_normal(shape)


VALUES: dict[str, Callable[[Random, Shape], np.ndarray]] = {
    "usual": _scaled(1.0),
    "equal steps": _equal_steps,
    "equal features": _equal_features,
    "ties": _tied,
    "1e-6": _scaled(1e-6),
    "3": _scaled(3.0),
    "1e4": _scaled(1e4),
    "around 1000": _around_1000,
    "zeros": _scaled(0.0),
}
LENGTHS = ("ragged", "full", "ones", "one is 0")
NO_STEPS = "all are 0"


def lengths(kind: str, random: Random, rows: int, steps: int) -> np.ndarray:
    """[rows]: how many steps of each row there are."""
    if kind in ("full", "ones", NO_STEPS):
        return np.full(rows, {"full": steps, "ones": 1, NO_STEPS: 0}[kind])
    lens = random.integers(1, steps + 1, rows)
    lens[0] = steps
    if kind == "one is 0":
        lens[-1] = 0
    return lens


def redrawn(seed: int, attempt: int) -> int:
    """The seed of another draw of what a seed draws: see ``Comparison.redrawn``."""
    return seed + 10**9 * attempt


def random_weights(shapes: Shapes, seed: int = 7) -> dict[str, np.ndarray]:
    """Asymmetric weights about their usual size, so that a forgotten transpose or a swapped pair shows.

    Each is drawn by its name: backends may list parameters in another order.
    """
    weights = {}
    for name, shape in shapes.items():
        scale = 1.0 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.3
        one = name.endswith("weight") and ("norm" in name or ".ln." in name or name == "weight")
        weights[name] = float(one) + scale * stream(seed, name).standard_normal(shape)
    return weights


def model_weights(config: TransformerConfig, seed: int = 7) -> dict[str, np.ndarray]:
    """Draw the weights of a whole model; where the configuration says so, the padding vector is zero."""
    weights = random_weights(parameter_shapes(config), seed)
    if config.padding_vector_zero:
        for name in weights.keys() & {"encoder.embedding.weight", "decoder.embedding.weight"}:
            weights[name][config.pad_id] = 0.0
    return weights


def with_uneven_rows(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the same model, in which rows of queries' weights differ by up to 64, and those of keys by the inverse.

    Scores stay as they are, but where all rows have one scale in eight bits, which loses the small ones. By powers of two
    nothing else is rounded otherwise.
    """

    def scaled(name: str, value: np.ndarray) -> np.ndarray:
        sign = {"W_q": 1.0, "W_k": -1.0}.get(name.split(".")[-2], 0.0)
        factors = np.exp2(sign * (np.arange(len(value)) % 7 - 3.0))
        return (value.T * factors).T

    return {name: scaled(name, value) for name, value in weights.items()}
