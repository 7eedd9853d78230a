"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

from transformer_mb.checks import check_positions
from transformer_mb.layer_calls import Called
from transformer_mb.positions import check_rotary_table, rotary_table

from .embedding import matched


class RotaryEncoding(Called, nn.Module):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        super().__init__()
        check_rotary_table(max_len, width)
        self.max_len = max_len
        self.layout = layout
        self.sizes = max_len, width, base, layout
        self.table: Tensor | None = None  # until an input says where it is to be

    def forward(self, X: Tensor, offset: int = 0) -> Tensor:
        T = X.shape[-2]
        check_positions(offset, T, self.max_len)
        rows = self._match(X)[offset : offset + T]
        return self._turned(X, rows[:, 0], rows[:, 1])

    def _match(self, X: Tensor) -> Tensor:
        """Have the table where X is, and in its dtype; but in two bytes an angle would have no digits."""
        dtype = torch.promote_types(X.dtype, torch.float32)
        self.table = matched(self.table, dtype, X.device, lambda: _table(*self.sizes, dtype, X.device))
        return self.table

    def _turned(self, X: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """X [..., d] by what ``positions.rotary_table`` holds of its position."""
        if self.layout == "halves":
            swapped = X.roll(X.shape[-1] // 2, dims=-1)
        else:
            swapped = X.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        return (X * cosines + swapped * sines).to(X.dtype)


@lru_cache(maxsize=16)
def _table(max_len: int, width: int, base: float, layout: str, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the one table for all layers of a model."""
    return torch.tensor(rotary_table(max_len, width, base, layout)).to(device, dtype)
