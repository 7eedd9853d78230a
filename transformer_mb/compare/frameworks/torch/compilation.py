"""torch.compile, which is not run: it takes too long."""

from __future__ import annotations

import numpy as np
import torch

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
    return torch.from_numpy(X).bfloat16().float().numpy()
