"""Special numbers: NaN, subnormal ones, halves, and what does not fit into a dtype."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..facts import Ask, Probe
from .reading import dtype_name, first_number, named

HALVES = np.array([-1.5, -0.5, 0.5, 1.5, 2.5], "float32")


def _halves(whole: Ask) -> str:
    found = np.asarray(whole(HALVES), np.float64)
    ways = {
        "to the even one": np.round(HALVES),
        "away from zero": np.trunc(HALVES + np.copysign(0.5, HALVES)),
        "up": np.floor(HALVES + 0.5),
        "down": np.ceil(HALVES - 0.5),
    }
    return named(found, ways, str(found.tolist()))


def _cast(value: float, source: str, dtype: str) -> Callable[[Ask], str]:
    """Cast one number alone and 37 at once, and return all different results."""

    def measure(cast: Ask) -> str:
        found = [np.asarray(cast(np.full(length, value, source), dtype)) for length in (1, 37)]
        return " or ".join(sorted({first_number(one) for array in found for one in array}))

    return measure


def _subnormal(multiply: Ask) -> str:
    tiny = np.array([1e-40], "float32")
    found = float(np.asarray(multiply(tiny, np.ones(1, "float32"))).real[0])
    return "zero" if found == 0.0 else "kept" if found == float(tiny[0]) else "another number"


def _integers(first: int, second: int) -> Callable[[Ask], str]:
    return lambda divide: first_number(divide(np.array([first], "int32"), np.array([second], "int32")))


UNDEFINED = "C++ leaves it open; what the processor does, or a compiler, becomes a token's number or a mask."


PROBES = (
    Probe(
        name="a quotient of integers by zero",
        operation="floor_divide",
        measure=_integers(7, 0),
        question="What is 7 // 0 of int32?",
        meaning="A length of zero goes on as a number.",
        setting="Check the divisor before.",
    ),
    Probe(
        name="a quotient of negative integers",
        operation="floor_divide",
        measure=_integers(-7, 2),
        question="What is -7 // 2 of int32?",
        meaning="Relative positions fall into other buckets where it is -3.",
        setting="`torch.div(rounding_mode=...)`.",
    ),
    Probe(
        name="argmax dtype",
        operation="argmax",
        measure=lambda argmax: dtype_name(argmax(np.array([1.0, 2.0], "float32"))),
        question="Which dtype has argmax?",
        meaning="Decoded tokens meet ones of another dtype.",
        setting="`output_type` in TensorFlow, `dtype` in Paddle; else a cast.",
    ),
    Probe(
        name="a subnormal number",
        operation="multiply",
        measure=_subnormal,
        question="What is 1e-40 times 1 in float32?",
        meaning="Flushed to zero, tiny probabilities and moments are no longer above it.",
        setting="`torch.set_flush_denormal(True)` for zero in torch.",
        sources=("data-apis/array-api#336",),
    ),
    Probe(
        name="rounding of halves",
        operation="whole",
        measure=_halves,
        question="Where do 0.5, 1.5 and 2.5 go when they are rounded?",
        meaning="Quantized weights are off by one in the last place.",
        setting="floor(x + 0.5) for up.",
    ),
    Probe(
        name="a large float to int32",
        operation="cast",
        measure=_cast(3e9, "float32", "int32"),
        question="What is 3e9 as int32?",
        meaning=UNDEFINED,
        setting="Clip before the cast.",
    ),
    Probe(
        name="NaN to int32",
        operation="cast",
        measure=_cast(np.nan, "float32", "int32"),
        question="What is NaN as int32?",
        meaning=UNDEFINED,
        setting="Replace NaN before the cast.",
    ),
    Probe(
        name="a negative float to uint8",
        operation="cast",
        measure=_cast(-1.0, "float32", "uint8"),
        kind="noted",
        question="What is -1.0 as uint8?",
        meaning=UNDEFINED,
        setting="Clip before the cast.",
    ),
)
