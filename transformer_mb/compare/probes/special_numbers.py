"""Special numbers: NaN, subnormal ones, halves, and what does not fit into a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..facts import Probe

Ask = Callable[..., Any]
HALVES = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], "float32")
# Lengths, and where NaN stands in them: what is computed in vectors of 8 or 16 may treat the rest otherwise.
PLACES = ((3, 1), (8, 4), (37, 18), (37, 36), (1000, 500))


def _dtype(values: Any) -> str:
    return str(np.asarray(values).dtype)


def _number(value: Any) -> str:
    return f"{float(np.asarray(value).real.flat[0]):.12g}"


def _by_places(told: Callable[[Any, int], str]) -> Callable[[Ask], str]:
    """One label for rising numbers with one NaN, wherever it stands; all labels that there are where they differ."""

    def measure(ask: Ask) -> str:
        labels = set()
        for length, place in PLACES:
            X = np.arange(1, length + 1, dtype="float32") / length
            X[place] = np.nan
            labels.add(told(np.asarray(ask(X)), place))
        return " or ".join(sorted(labels))

    return measure


def _nan_argmax(found: np.ndarray, place: int) -> str:
    return "NaN's" if int(found) == place else "a number's" if int(found) >= 0 else "none"


def _halves(whole: Ask) -> str:
    found = np.asarray(whole(HALVES), np.float64)
    ways = {
        "to the even one": np.round(HALVES),
        "away from zero": np.trunc(HALVES + np.copysign(0.5, HALVES)),
        "up": np.floor(HALVES + 0.5),
        "down": np.ceil(HALVES - 0.5),
    }
    return next((way for way, expected in ways.items() if np.array_equal(found, expected)), str(found.tolist()))


def _cast(value: float, source: str, dtype: str) -> Callable[[Ask], str]:
    """Of one number, and of many: all results that there are."""

    def measure(cast: Ask) -> str:
        found = [np.asarray(cast(np.full(length, value, source), dtype)) for length in (1, 37)]
        return " or ".join(sorted({_number(one) for array in found for one in array}))

    return measure


def _subnormal(multiply: Ask) -> str:
    tiny = np.array([1e-40], "float32")
    found = float(np.asarray(multiply(tiny, np.ones(1, "float32"))).real[0])
    return "zero" if found == 0.0 else "kept" if found == float(tiny[0]) else "another number"


def _integers(first: int, second: int) -> Callable[[Ask], str]:
    return lambda divide: _number(divide(np.array([first], "int32"), np.array([second], "int32")))


UNDEFINED = "C++ leaves it open; what the processor does, or a compiler, becomes a token's number or a mask."


PROBES = (
    Probe(
        name="a quotient of integers by zero",
        operation="floor_divide",
        measure=_integers(7, 0),
        decoy="7",
        question="What is 7 // 0 of int32?",
        meaning="A length of zero goes on as a number.",
        setting="Check the divisor before.",
    ),
    Probe(
        name="a quotient of negative integers",
        operation="floor_divide",
        measure=_integers(-7, 2),
        decoy="7",
        question="What is -7 // 2 of int32?",
        meaning="Relative positions fall into other buckets where it is -3.",
        setting="`torch.div(rounding_mode=...)`.",
    ),
    Probe(
        name="argmax dtype",
        operation="argmax",
        measure=lambda argmax: _dtype(argmax(np.array([1.0, 2.0], "float32"))),
        decoy="int8",
        question="Which dtype has argmax?",
        meaning="Decoded tokens meet ones of another dtype.",
        setting="`output_type` in TensorFlow, `dtype` in Paddle; else a cast.",
    ),
    Probe(
        name="a subnormal number",
        operation="multiply",
        measure=_subnormal,
        decoy="another number",
        question="What is 1e-40 times 1 in float32?",
        meaning="Flushed to zero, tiny probabilities and moments are no longer above it.",
        setting="`torch.set_flush_denormal(True)` for zero in torch.",
        sources=("array-api#336",),
    ),
    Probe(
        name="rounding of halves",
        operation="whole",
        measure=_halves,
        decoy="down",
        question="Where do 0.5, 1.5 and 2.5 go when they are rounded?",
        meaning="Quantized weights are off by one in the last place.",
        setting="floor(x + 0.5) for up.",
    ),
    Probe(
        name="a large float to int32",
        operation="cast",
        measure=_cast(3e9, "float32", "int32"),
        decoy="7",
        question="What is 3e9 as int32?",
        meaning=UNDEFINED,
        setting="Clip before the cast.",
    ),
    Probe(
        name="NaN to int32",
        operation="cast",
        measure=_cast(np.nan, "float32", "int32"),
        decoy="7",
        question="What is NaN as int32?",
        meaning=UNDEFINED,
        setting="Replace NaN before the cast.",
    ),
    Probe(
        name="a negative float to uint8",
        operation="cast",
        measure=_cast(-1.0, "float32", "uint8"),
        decoy="7",
        kind="noted",
        question="What is -1.0 as uint8?",
        meaning=UNDEFINED,
        setting="Clip before the cast.",
    ),
    Probe(
        name="300 to uint8",
        operation="cast",
        measure=_cast(300, "int32", "uint8"),
        decoy="7",
        question="What is 300 of int32 as uint8?",
        meaning="Tokens stored in too few bits are others.",
        setting="Check the largest before the cast.",
    ),
)
