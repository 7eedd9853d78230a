"""Random weights of layers and models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...config import TransformerConfig
from ...parameters import Shapes, parameter_shapes
from ...random_streams import stream


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
    """The same model, in which rows of queries' weights differ by up to 64, and those of keys by the inverse.

    Scores stay as they are, but where all rows have one scale in eight bits, which loses the small ones. By powers of two
    nothing else is rounded otherwise.
    """

    def scaled(name: str, value: np.ndarray) -> np.ndarray:
        sign = {"W_q": 1.0, "W_k": -1.0}.get(name.split(".")[-2], 0.0)
        factors = np.exp2(sign * (np.arange(len(value)) % 7 - 3.0))
        return (value.T * factors).T

    return {name: scaled(name, value) for name, value in weights.items()}
