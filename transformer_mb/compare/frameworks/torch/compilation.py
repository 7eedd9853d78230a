"""torch.compile, which is not run: it takes too long."""

from __future__ import annotations

import numpy as np

from .device import from_numpy, to_numpy

ABSENT = dict.fromkeys(
    (
        "through_bfloat16_compiled",
        "sum_less_first",
        "logarithm_of_power",
        "multiply_add",
        "third",
        "runs",
    ),
    "torch.compile builds with a C++ compiler, which takes the better part of a minute and is not measured here.",
)


def through_bfloat16(X: np.ndarray) -> np.ndarray:
    return to_numpy(from_numpy(X).bfloat16().float())
