"""The rows of layers: each layer's and function's output, and all its gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...interface import FUNCTIONS
from ...random_streams import stream
from ..computing.messages import Request, named, without_arrays
from ..computing.precision import rounded_arrays
from ..computing.reference import Oracle
from ..verdict.comparison import Comparison
from .layer_cases import CASES, Case, made, make
from .weights import random_weights

IN_LOW_PRECISION = (
    "layer norm",
    "std norm",
    "add and norm, post",
    "add and norm, pre",
    "ffn relu",
    "ffn gelu",
    "ffn silu",
    "dot product",
    "self-attention, bias",
    "self-attention, causal and lens",
    "cross-attention, lens 2-D with an empty row",
    "cross-attention, all masks",
    "masked softmax, heads, lens and mask",
    "positions",
    "encoder block, lens",
    "encoder block, pre-norm, bias, gelu",
    "decoder block",
    "decoder block, pre-norm, silu",
    "encoder",
    "decoder",
    "loss",
    "loss with smoothing",
)
ROWS = ("layer forward", "layer gradients")


def layer_experiments(oracle: Oracle, dtype: str, seed: int) -> list[Comparison]:
    """Every case of the table; in formats of two bytes one of each kind of layer, with and without masks."""
    low = dtype not in ("float64", "float32")
    cases = [case for case in CASES if not low or case.name in IN_LOW_PRECISION]
    rows = ROWS[:1] if low else ROWS
    return [
        Comparison(case.name, dtype, rows, partial(layer_request, oracle, case, dtype, seed), oracle, case.ill_conditioned)
        for case in cases
    ]


def layer_request(oracle: Oracle, case: Case, dtype: str, seed: int) -> Request:
    """The case with random weights, inputs and cotangent, keyed by the seed and the case's name."""
    random = stream(seed, "parity", case.name)
    arrays: dict[str, np.ndarray] = {}
    if case.layer not in FUNCTIONS:
        shapes = oracle.exactly.parameter_shapes(made(case, oracle.exactly))
        arrays |= named("weights", random_weights(shapes, seed))
    spec: dict[str, Any] = {
        "layer": case.layer,
        "arguments": case.arguments,
        "options": case.options,
        "training": case.training,
        "inputs": [without_arrays(make(spec, random), f"inputs.{i}", arrays) for i, spec in enumerate(case.inputs)],
        "call": {name: without_arrays(make(spec, random), f"call.{name}", arrays) for name, spec in case.call.items()},
    }
    arrays = rounded_arrays(arrays, dtype)
    request = Request("layer", dtype, spec, arrays)
    if dtype in ("float64", "float32"):
        output = oracle.exact(request)["output"]
        arrays |= rounded_arrays({"cotangent": random.standard_normal(output.shape)}, dtype)
    return request
