"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import paddle
from paddle import Tensor, nn

from transformer_mb.checks import check_positions
from transformer_mb.layer_calls import Called
from transformer_mb.positions import rotary_table


class RotaryEncoding(Called, nn.Layer):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        super().__init__()
        self.max_len = max_len
        self.layout = layout
        self.sizes = max_len, width, base, layout
        rotary_table(*self.sizes)  # refuses an odd width here, not at the first call

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        T = X.shape[-2]
        check_positions(offset, T, self.max_len)
        dtype = paddle.float64 if X.dtype == paddle.float64 else paddle.float32  # in two bytes an angle would have no digits
        if paddle.in_dynamic_mode():
            rows = _table(*self.sizes, dtype, X.place)[offset : offset + T]
        else:  # a program spells its constants: those rows alone
            rows = paddle.assign(rotary_table(*self.sizes)[offset : offset + T]).astype(dtype)
        heads = X if X.dtype == dtype else X.astype(dtype)
        return (heads * rows[:, 0] + self.swapped(heads) * rows[:, 1]).astype(X.dtype)

    def swapped(self, X: Tensor) -> Tensor:
        """Return each number's partner in its place."""
        if self.layout == "halves":
            first, second = X.split(2, axis=-1)
            return paddle.concat([second, first], axis=-1)
        return paddle.stack([X[..., 1::2], X[..., ::2]], axis=-1).reshape(X.shape)


@lru_cache(maxsize=16)
def _table(max_len: int, width: int, base: float, layout: str, dtype: Any, place: Any) -> Tensor:
    """Return the one table for all layers of a model."""
    return paddle.to_tensor(rotary_table(max_len, width, base, layout), dtype, place)
