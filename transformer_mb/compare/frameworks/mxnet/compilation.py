"""gluon's hybridize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mxnet import gluon
from mxnet import np as mnp

NO_BFLOAT16 = "MXNet 1.9.1 has no bfloat16 that an array could be cast to by name."
ABSENT = {"through_bfloat16": NO_BFLOAT16, "through_bfloat16_compiled": NO_BFLOAT16}


class _Function(gluon.HybridBlock):
    """A block of one function, which is given ``F`` of MXNet, with ``F.np``, and arrays."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self._function = function

    def hybrid_forward(self, F: Any, *arrays: Any) -> Any:
        return self._function(F, *arrays)


def _compiled(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    block = _Function(function)
    block.hybridize()
    return block(*(mnp.array(array) for array in arrays)).asnumpy()


def sum_less_first(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _compiled(lambda F, x, y: x + y - x, X, Y)


def logarithm_of_power(X: np.ndarray) -> np.ndarray:
    """MXNet has no exp2."""
    return _compiled(lambda F, x: F.np.log2(2.0**x), X)


def multiply_add(X: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return _compiled(lambda F, x, y, z: x * y + z, X, Y, Z)


def third(X: np.ndarray) -> np.ndarray:
    return _compiled(lambda F, x: x / 3.0, X)


def runs(arrays: Sequence[np.ndarray]) -> int:
    """How often Python runs a hybridized block that is called with each of the arrays."""
    seen: list[int] = []

    def traced(F: Any, x: Any) -> Any:
        seen.append(1)
        return x + 1.0

    block = _Function(traced)
    block.hybridize()
    for array in arrays:
        block(mnp.array(array))
    return len(seen)
