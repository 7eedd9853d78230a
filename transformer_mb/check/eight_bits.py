"""Whole numbers of eight bits as a format: what a quantised candidate rounds to, rounded in the reference."""

from __future__ import annotations

import numpy as np

INT8 = "int8"
LARGEST = 127
# Half of a step, of a number half as large as the largest.
EPS_INT8 = 1.0 / LARGEST


def on_grid(array: np.ndarray) -> np.ndarray:
    """Round floats to 255 evenly spaced values around zero, the outermost of which is the largest.

    Vectors stay: quantised layers keep biases and norms in float32.
    """
    if array.ndim < 2 or not array.size:
        return array
    step = (float(np.abs(array).max()) or 1.0) / LARGEST
    return np.asarray(np.rint(array / step) * step)
