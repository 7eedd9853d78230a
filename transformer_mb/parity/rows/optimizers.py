"""The row of optimizers: two steps from given gradients and moments, or one where the weights are rounded after each."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...random_streams import stream
from ...trainer import SLOTS
from ..computing.messages import Request, named
from ..computing.precision import rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_values import model_weights
from .model_cases import OPTIMIZERS, OptimizerCase
from .trained_steps import drawn_updates


def optimizer_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make the optimizer steps; in formats of two bytes each optimizer once, and one with clipping."""
    rows = rows_of("update", dtype)
    cases = [case for case in (*OPTIMIZERS, *drawn_updates(seed)) if dtype in PLAIN_DTYPES or case.every_dtype]
    return [Comparison(case.name, dtype, rows, partial(optimizer_request, case, dtype, seed)) for case in cases]


def optimizer_request(case: OptimizerCase, dtype: str, seed: int) -> Request:
    """Ask for a step from given gradients: Adam would make a step of full size of a gradient's rounding noise."""
    random = stream(seed, "parity", case.name)
    weights = model_weights(case.config, seed)
    arrays = named("weights", weights)
    arrays |= {f"gradients.{name}": case.scale * random.standard_normal(value.shape) for name, value in weights.items()}
    arrays = rounded_arrays(arrays, dtype)
    if case.step_count:  # an optimizer's state is never less than float32
        least = dtype if dtype in PLAIN_DTYPES else "float32"
        arrays |= rounded_arrays(named("slots", _moments(case, weights, random)), least)
    spec: dict[str, Any] = {"config": case.config.to_dict(), "options": case.options, "step_count": case.step_count}
    return Request("update", dtype, {**spec, "updates": 2 if dtype in PLAIN_DTYPES else 1}, arrays)


def _moments(case: OptimizerCase, weights: dict[str, np.ndarray], random: np.random.Generator) -> dict[str, np.ndarray]:
    """Make what earlier gradients of the same size would have left: v is a mean of squares, so it is positive."""
    moments = {}
    for slot in SLOTS[case.options["optimizer"]]:
        for name, value in weights.items():
            noise = case.scale * random.standard_normal(value.shape)
            moments[f"{slot}.{name}"] = np.square(noise) if slot == "v" else noise
    return moments
