"""The rows of layers: each layer's and function's output, and all its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...interface import FUNCTIONS
from ...random_streams import stream
from ..computing import reference
from ..computing.messages import Request, named, rounded_arrays, under, without_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_values import random_weights, redrawn
from .fast_steps import FastComparison
from .layer_cases import CASES, SMOOTH, WITH_ACTIVATION, Case, build_layer
from .layer_inputs import build_input

# Of a decoder's block more than one array comes, and what reads tokens has no direction.
NOT_FORWARDS = ("DecoderBlock", "TransformerEncoder", "TransformerDecoder")


def layer_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make all cases of the table."""
    return _experiments(CASES, dtype, seed)


def drawn_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make the seed's cases."""
    from .drawn_layers import drawn_cases

    return _experiments(drawn_cases(seed), dtype, seed)


def _experiments(cases: Iterable[Case], dtype: str, seed: int) -> list[Comparison]:
    """Make cases in a dtype; in two bytes one per kind of layer, with and without masks, and long sums.

    Of a layer with ReLU these have no gradients: see ``layer_cases.SMOOTH``.
    """
    every_row = rows_of("layer", dtype)
    experiments = []
    for case in cases:
        if case.every_dtype or case.long_sums != (dtype in PLAIN_DTYPES):
            smooth = dtype in PLAIN_DTYPES or _is_smooth(case)
            once = case.one_rounding and dtype not in PLAIN_DTYPES
            rows = every_row if smooth and not once else every_row[:1]
            make = partial(layer_request, case, dtype, seed, len(rows) > 1)
            experiments.append(Comparison(case.name, dtype, rows, make, case.ill_conditioned, redrawn=True, one_rounding=once))
    return experiments


def _is_smooth(case: Case) -> bool:
    return case.layer not in WITH_ACTIVATION or case.options.get("activation") in SMOOTH


def forward_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make the cases of each kind of layer that is smooth, with and without masks: the reference takes a pass a number."""
    kinds = (case for case in CASES if case.every_dtype and _is_smooth(case) and case.layer not in NOT_FORWARDS)
    cases = (case for case in kinds if not case.training and "long" not in case.inputs)
    make = partial(FastComparison, dtype=dtype, rows=rows_of("forwards", dtype), redrawn=True, option="forward derivatives")
    return [make(case.name, make=partial(forward_request, case, dtype, seed)) for case in cases]


def forward_request(case: Case, dtype: str, seed: int, attempt: int = 0) -> Request:
    """The layer's request, with a direction for each of its inputs that are floats."""
    request = layer_request(case, dtype, seed, False, attempt)
    random = stream(redrawn(seed, attempt), "parity", "direction", case.name)
    floats = {name: value for name, value in under("inputs", request.arrays).items() if value.dtype.kind == "f"}
    directions = {number: random.standard_normal(value.shape) for number, value in floats.items()}
    arrays = {**request.arrays, **rounded_arrays(named("direction", directions), dtype)}
    return replace(request, computation="forwards", arrays=arrays)


def layer_request(case: Case, dtype: str, seed: int, with_gradients: bool = True, attempt: int = 0) -> Request:
    """The case with random weights, inputs and cotangent, keyed by the seed and the case's name."""
    seed = redrawn(seed, attempt)
    random = stream(seed, "parity", case.name)
    arrays: dict[str, np.ndarray] = {}
    if case.layer not in FUNCTIONS:
        backend = reference.backend("float64")
        shapes = backend.parameter_shapes(build_layer(case, backend))
        arrays |= named("weights", random_weights(shapes, seed))
    spec: dict[str, Any] = {
        "layer": case.layer,
        "arguments": case.arguments,
        "options": case.options,
        "training": case.training,
        "inputs": [without_arrays(build_input(spec, random), f"inputs.{i}", arrays) for i, spec in enumerate(case.inputs)],
        "call": {name: without_arrays(build_input(spec, random), f"call.{name}", arrays) for name, spec in case.call.items()},
    }
    if case.part:
        spec["part"] = case.part
    arrays = rounded_arrays(arrays, dtype)
    arrays |= named("masks", {path: random.random(shape) < 0.7 for path, shape in case.masks.items()})
    request = Request("layer", dtype, spec, arrays)
    if with_gradients:
        output = reference.answer(request)["output"]
        cotangent = random.standard_normal(output.shape)
        arrays |= rounded_arrays({"cotangent": np.abs(cotangent) if case.long_sums else cotangent}, dtype)
    return request
