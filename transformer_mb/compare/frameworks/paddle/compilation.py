"""paddle.jit.to_static, without a backend compiler, as is the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import paddle


def _round_trip(x: paddle.Tensor) -> paddle.Tensor:
    return x.astype("bfloat16").astype("float32")


def _sum_less_first(x: paddle.Tensor, y: paddle.Tensor) -> paddle.Tensor:
    return x + y - x


def _logarithm_of_power(x: paddle.Tensor) -> paddle.Tensor:
    return paddle.log2(2.0**x)


def _multiply_add(x: paddle.Tensor, y: paddle.Tensor, z: paddle.Tensor) -> paddle.Tensor:
    return x * y + z


def _third(x: paddle.Tensor) -> paddle.Tensor:
    return x / 3.0


def _compiled(function: Callable[..., paddle.Tensor], *arrays: np.ndarray) -> np.ndarray:
    return paddle.jit.to_static(function)(*(paddle.to_tensor(array) for array in arrays)).numpy()


def through_bfloat16(X: np.ndarray) -> np.ndarray:
    return _round_trip(paddle.to_tensor(X)).numpy()


def through_bfloat16_compiled(X: np.ndarray) -> np.ndarray:
    return _compiled(_round_trip, X)


def sum_less_first(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return _compiled(_sum_less_first, X, Y)


def logarithm_of_power(X: np.ndarray) -> np.ndarray:
    """Paddle has no exp2."""
    return _compiled(_logarithm_of_power, X)


def multiply_add(X: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return _compiled(_multiply_add, X, Y, Z)


def third(X: np.ndarray) -> np.ndarray:
    return _compiled(_third, X)


def runs(arrays: Sequence[np.ndarray]) -> int:
    """How often Python runs a compiled function that is called with each of the arrays."""
    seen: list[int] = []

    def traced(x: paddle.Tensor) -> paddle.Tensor:
        seen.append(1)
        return x + 1.0

    compiled = paddle.jit.to_static(traced)
    for array in arrays:
        compiled(paddle.to_tensor(array))
    return len(seen)
