"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from typing import Any

import numpy

from transformer_mb.checks import check_positions
from transformer_mb.positions import rotary_table

from .framework import Module


class RotaryEncoding(Module):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        self.max_len = max_len
        self.turns = rotary_table(max_len, width, base, layout)
        pairs = numpy.arange(width).reshape((2, -1) if layout == "halves" else (-1, 2))
        # The place of each number's partner.
        self.partners = (pairs[::-1] if layout == "halves" else pairs[:, ::-1]).reshape(-1)

    def forward(self, X: Any, offset: int = 0) -> Any:
        T = X.shape[-2]
        check_positions(offset, T, self.max_len)
        rows = self.turns[offset : offset + T].astype(X.dtype)
        return X * rows[:, 0] + X[..., self.partners] * rows[:, 1]
