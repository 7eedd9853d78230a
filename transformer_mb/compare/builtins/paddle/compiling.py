"""paddle.jit.to_static, without a backend compiler, as is the default."""

from __future__ import annotations

import paddle
from paddle import Tensor
from paddle.jit import to_static

from ..calls import Table, runs
from .arrays import called


def round_trip(x: Tensor) -> Tensor:
    return x.astype("bfloat16").astype("float32")


TABLES: dict[str, Table] = {
    "compilation": called(
        through_bfloat16=round_trip,
        through_bfloat16_compiled=to_static(round_trip),
        sum_less_first=to_static(lambda x, y: x + y - x),
        logarithm_of_power=to_static(lambda x: paddle.log2(2.0**x)),  # Paddle has no exp2
        multiply_add=to_static(lambda x, y, z: x * y + z),
        third=to_static(lambda x: x / 3.0),
    )
    | {"runs": runs(to_static, paddle.to_tensor)},
}
