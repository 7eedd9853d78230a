"""gluon's hybridize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mxnet import gluon
from mxnet import np as mnp

from ..calls import Table, runs
from .arrays import NO_BFLOAT16, called


class _Function(gluon.HybridBlock):
    """A block that computes one function of MXNet's ``F`` and arrays."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self._function = function

    def hybrid_forward(self, F: Any, *arrays: Any) -> Any:
        return self._function(F, *arrays)


def hybridized(function: Callable[..., Any]) -> Any:
    block = _Function(function)
    block.hybridize()
    return block


TABLES: dict[str, Table] = {
    "compilation": called(
        through_bfloat16=NO_BFLOAT16,
        through_bfloat16_compiled=NO_BFLOAT16,
        sum_less_first=hybridized(lambda F, x, y: x + y - x),
        logarithm_of_power=hybridized(lambda F, x: F.np.log2(2.0**x)),  # MXNet has no exp2
        multiply_add=hybridized(lambda F, x, y, z: x * y + z),
        third=hybridized(lambda F, x: x / 3.0),
    )
    | {"runs": runs(lambda traced: hybridized(lambda F, x: traced(x)), mnp.array)},
}
