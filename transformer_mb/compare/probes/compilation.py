"""Compilation: what a compiled function computes otherwise than an eager one, and how often its Python runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..facts import Ask, Probe
from .reading import first_number, float32

DETAIL = 1.0 + 2.0**-12  # that float32 holds and bfloat16 does not


def _first(values: Any) -> float:
    return float(np.asarray(values)[0])


def _round_trip(through_bfloat16: Ask) -> str:
    found = _first(through_bfloat16(float32(DETAIL)))
    return "rounded" if found == 1.0 else "left out" if found == DETAIL else "another number"


def _multiply_add(multiply_add: Ask) -> str:
    """Compute x x - (1 + 2^-11), where x x rounds to 1 + 2^-11."""
    found = _first(multiply_add(float32(DETAIL), float32(DETAIL), float32(-1.0 - 2.0**-11)))
    return {0.0: "twice", 2.0**-24: "once"}.get(found, "otherwise")


def _third(third: Ask) -> str:
    """Divide 1,000 numbers."""
    X = np.arange(1, 1001, dtype="float32")
    found = np.asarray(third(X))
    if np.array_equal(found, X / np.float32(3.0)):
        return "a division"
    return "a multiplication by 1/3" if np.array_equal(found, X * np.float32(1.0 / 3.0)) else "neither"


def _runs(lengths: Sequence[int]) -> Callable[[Ask], float]:
    return lambda runs: float(runs([np.ones(length, "float32") for length in lengths]))


PROBES = (
    Probe(
        name="bfloat16 and back",
        operation="through_bfloat16",
        measure=_round_trip,
        question="Is a number rounded that is cast to bfloat16 and back?",
        meaning="The yardstick of the next line: what an eager function does.",
        setting="Nothing to set.",
    ),
    Probe(
        name="bfloat16 and back, compiled",
        operation="through_bfloat16_compiled",
        measure=_round_trip,
        question="Is a number rounded that a compiled function casts to bfloat16 and back?",
        meaning="Where the pair of casts is left out, simulated low precision is no longer low.",
        setting="`lax.reduce_precision`, `xla_allow_excess_precision=false`; `emulate_precision_casts` of torch.compile.",
        sources=("jax-ml/jax#23007", "jax-ml/jax#22244", "pytorch/pytorch#176565", "pytorch/pytorch#182225"),
    ),
    Probe(
        name="x + y - x, compiled",
        operation="sum_less_first",
        measure=lambda sum_less_first: first_number(sum_less_first(float32(1e8), float32(1.0))),
        question="What is x + y - x of 1e8 and 1 in a compiled function? Step by step it is 0, by algebra 1.",
        meaning="Compensated sums rest on the steps.",
        setting="Nothing to set.",
    ),
    Probe(
        name="log2 of exp2, compiled",
        operation="logarithm_of_power",
        measure=lambda logarithm_of_power: first_number(logarithm_of_power(float32(128.0))),
        question="What is log2(2^x) of 128 in a compiled function? 2^128 is infinite in float32.",
        meaning="An overflow that eager code shows is gone in the compiled one.",
        setting="Nothing to set.",
        sources=("jax-ml/jax#38100",),
    ),
    Probe(
        name="a product and a sum, compiled",
        operation="multiply_add",
        measure=_multiply_add,
        kind="noted",
        question="How often is x y + z rounded in a compiled function?",
        meaning="Once, in one instruction, is more exact, and not what eager code gives; only where the processor has it.",
        setting="`--xla_cpu_max_isa=AVX` leaves processors without that instruction.",
    ),
    Probe(
        name="a third, compiled",
        operation="third",
        measure=_third,
        question="Is x / 3 a division in a compiled function?",
        meaning="A multiplication by 1/3 differs in the last place.",
        setting="Nothing to set.",
    ),
    Probe(
        name="Python runs of one shape",
        operation="runs",
        measure=_runs((3, 3, 3)),
        question="How often does a compiled function's Python run in three calls with one shape?",
        meaning="A print or a counter in it shows that many.",
        setting="`jax.debug.print`, `tf.print`.",
    ),
    Probe(
        name="Python runs of five shapes",
        operation="runs",
        measure=_runs((3, 4, 5, 6, 7)),
        question="How often does a compiled function's Python run in five calls with five lengths?",
        meaning="Batches of many lengths compile again for each, or not.",
        setting="Pad to a few lengths; `input_signature` or `input_spec`.",
    ),
)
