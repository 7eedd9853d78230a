"""Draws of a seed: rows of covering arrays, weights, and inputs and lengths of the kinds that hide mistakes.

A covering array has few combinations of many settings in which every pair of values occurs, of few settings every three values.
They lie in covering_arrays.json; ``python tests/parity/make_covering_arrays.py`` makes them, with covertable, in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import ParityError
from ...parameters import Shapes, parameter_shapes
from ...random_streams import stream

Row = dict[str, Any]
FEW = 13  # settings: three values of each that meet take four times as many combinations as two
STORED = Path(__file__).with_name("covering_arrays.json")


def _anything(row: Row) -> bool:
    return True


@cache
def _stored() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return made


@dataclass(frozen=True)
class CoveringArray:
    """Settings with their values, the usual one first.

    ``possible`` says of a row that holds two settings alone whether these two values can go together; the array is made of
    such pairs. Whichever seeds follow one another, ``seeds_for_all(share)`` of them run every pair, or every three.
    """

    name: str
    settings: Mapping[str, Sequence[Any]]
    possible: Callable[[Row], bool] = field(default=_anything)

    @cached_property
    def rows(self) -> list[Row]:
        """Return the rows in an order of their own, so that one seed's rows differ in every setting."""
        made = _stored().get(self.name, {"settings": [], "rows": []})
        if made["settings"] != self.sizes:
            raise ParityError(
                f"The covering array {self.name!r} must be made of today's settings, got one of others. Make it again with: "
                "python tests/parity/make_covering_arrays.py."
            )
        return [{name: self.settings[name][i] for (name, _), i in zip(self.sizes, row, strict=True)} for row in made["rows"]]

    @property
    def strength(self) -> int:
        """The number of values that meet in every way."""
        return 3 if len(self.settings) <= FEW else 2

    @property
    def sizes(self) -> list[list[Any]]:
        """Return each setting with the number of its values."""
        return [[name, len(values)] for name, values in self.settings.items()]

    def share(self, seed: int, size: int) -> list[Row]:
        """The ``size`` rows of a seed; the next seed has the next ones."""
        return [self.rows[(seed * size + i) % len(self.rows)] for i in range(size)]

    def words(self, row: Row) -> str:
        """The settings of a row that are not the usual ones, such as ``causal, T 2, no bias``."""
        words = [_word(name, row[name]) for name, values in self.settings.items() if row[name] != values[0]]
        return ", ".join(words) or "all as usual"

    def seeds_for_all(self, size: int) -> int:
        return -(-len(self.rows) // size)


def _word(name: str, value: Any) -> str:
    name = name.replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value}"


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
    """Return a model in which rows of queries' weights differ by up to 64, those of keys by the inverse, and words as well.

    Scores of the same words stay as they are, but where all rows have one scale in eight bits, or all vectors, which loses the
    small ones. Values are small, and what multiplies them is larger by as much. By powers of two nothing else is rounded
    otherwise. The last row of queries' weights is zero, and so is its scale in eight bits; the hidden units of the encoder's
    first block are alike, so that a vector's least number is its greatest.
    """

    def scaled(name: str, value: np.ndarray) -> np.ndarray:
        part = name.split(".")[-2]
        if name.startswith("encoder.blks.block0.ffn.dense1"):
            return np.broadcast_to(value[0], value.shape).copy()
        if name.endswith("W_o.weight"):
            return value * 2.0**6
        sign = {"W_q": 1.0, "W_k": -1.0, "embedding": 2.0}.get(part, 0.0)
        factors = np.exp2(sign * (np.arange(len(value)) % 7 - 3.0) - 6.0 * (part == "W_v"))
        factors[-1] *= part != "W_q"
        return (value.T * factors).T

    return {name: scaled(name, value) for name, value in weights.items()}
