"""A case: the weights and inputs that both sides compute with, drawn by a seed or made by hand, and its copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..parity.computing.messages import EPS as MATRIX_EPS
from ..random_streams import stream
from ..rounding import rounded
from .eight_bits import EPS_INT8, INT8, on_grid
from .inputs import single

Arrays = Mapping[str, np.ndarray]
EPS = MATRIX_EPS | {INT8: EPS_INT8}
SPREAD = 0.3  # what is all the same, as biases and scales are made, is drawn within this of it


@dataclass(frozen=True)
class Case:
    """A case to compute: weights by the reference's names, inputs by name, and the seed that draws the cotangents.

    The cotangents are what outputs are multiplied with before their sum is differentiated.
    """

    weights: Arrays
    inputs: Arrays
    seed: int = 0

    def rounded(self, dtype: str) -> Case:
        """Return the same, as near as the dtype can hold it."""
        if dtype == INT8:
            return replace(self, weights={name: on_grid(array) for name, array in self.weights.items()})
        return self.each(lambda name, array: rounded(array, dtype).astype(np.float64))

    def copy(self, dtype: str, number: int) -> Case:
        """Return a perturbed copy: every float off by one unit in the last place of the dtype, up or down at random."""
        signs = stream("copy", number, self.seed)

        def off(name: str, array: np.ndarray) -> np.ndarray:
            moved = array + EPS[dtype] * np.abs(array) * signs.choice([-1.0, 1.0], array.shape)
            return rounded(moved, "float32" if dtype == INT8 else dtype).astype(np.float64)

        return self.each(off)

    def each(self, change: Callable[[str, np.ndarray], np.ndarray]) -> Case:
        parts = [
            {name: change(name, one) if one.dtype.kind == "f" else one for name, one in arrays.items()}
            for arrays in (self.weights, self.inputs)
        ]
        return replace(self, weights=parts[0], inputs=parts[1])


def drawn_weights(built: Arrays, seed: object) -> dict[str, np.ndarray]:
    """Return random weights as large as those that were made: zeros and ones would hide what they are used for.

    What was all positive stays so, since a running variance is.
    """
    weights = {}
    for name, made in built.items():
        random = stream("weight", seed, name)
        made = np.asarray(made, np.float64)
        center, spread = (float(made.mean()), float(made.std())) if made.size else (0.0, 0.0)
        if spread > 1e-6 * abs(center):
            value = random.normal(center, spread, made.shape)
        else:
            value = center + random.uniform(-SPREAD, SPREAD, made.shape)
        weights[name] = single(np.abs(value) if made.size and made.min() > 0.0 else value)
    return weights
