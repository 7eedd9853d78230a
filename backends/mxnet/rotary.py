"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

from transformer_mb.checks import check_positions
from transformer_mb.positions import rotary_table

from .shim import Block


class RotaryEncoding(Block):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        super().__init__()
        self.max_len = max_len
        self.layout = layout
        self.sizes = max_len, width, base, layout
        self._make("float32", None)

    def forward(self, X: mnp.ndarray, offset: int = 0) -> mnp.ndarray:
        T = X.shape[-2]
        check_positions(offset, T, self.max_len)
        self._match(X)
        dtype = self.cosines.dtype
        heads = X if X.dtype == dtype else npx.cast(X, dtype=dtype)
        # Operators, which ``shortcuts.tape.compiled`` sees.
        cosines, sines = (npx.slice(table, begin=(offset,), end=(offset + T,)) for table in (self.cosines, self.sines))
        if autograd.is_recording():  # the backward of a broadcasting product takes ten times as long
            cosines, sines = mnp.broadcast_to(cosines, X.shape), mnp.broadcast_to(sines, X.shape)
        turned = heads * cosines + self.swapped(heads) * sines
        return turned if X.dtype == dtype else npx.cast(turned, dtype=X.dtype)

    def _match(self, X: mnp.ndarray) -> None:
        """Have the table where X is, and in its dtype; but in two bytes an angle would have no digits."""
        dtype = np.promote_types(X.dtype, np.float32)
        if self.cosines.dtype != dtype or self.cosines.ctx != X.ctx:
            self._make(dtype, X.ctx)

    def _make(self, dtype: Any, context: Any) -> None:
        table = rotary_table(*self.sizes)
        self.cosines, self.sines = (mnp.array(table[:, i], dtype=dtype, ctx=context) for i in range(2))

    def swapped(self, X: mnp.ndarray) -> mnp.ndarray:
        """Return each number's partner in its place, by operators that name no size but d, for any rows and steps."""
        halves, width = self.layout == "halves", X.shape[-1]
        of_pairs = ((0, width // 2, 1), (width // 2, width, 1)) if halves else ((0, width, 2), (1, width, 2))
        ranges = ([(None, None, None, number) for number in each] for each in of_pairs)
        first, second = (npx.slice(X, begin=begin, end=end, step=step) for begin, end, step in ranges)
        if halves:
            return mnp.concatenate((second, first), axis=-1)
        return npx.reshape(mnp.stack((second, first), axis=-1), (-2, -2, -2, -1))
