"""Rotary positions: the queries and keys of each head turned by angles that grow with the position."""

from __future__ import annotations

import numpy as np

from transformer_mb.checks import check_positions
from transformer_mb.positions import rotary_table

from .framework import Layer


class RotaryEncoding(Layer):
    """Heads [B, H, T, d], the first step being position ``offset``, turned; the table is no parameter and is never saved."""

    def __init__(self, width: int, max_len: int, *, base: float, layout: str):
        self.max_len = max_len
        self.layout = layout
        self.base = base
        self.turns = rotary_table(max_len, width, base, layout)

    def forward(self, X: np.ndarray, offset: int = 0) -> np.ndarray:
        cosines, sines = self.rows(X, offset)
        return X * cosines + self.swapped(X) * sines

    def backward(self, gradient: np.ndarray, offset: int = 0) -> np.ndarray:
        """Turn back, which is the transpose of a turn."""
        cosines, sines = self.rows(gradient, offset)
        return gradient * cosines - self.swapped(gradient) * sines

    def rows(self, X: np.ndarray, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cosines and the sines [T, d] of the steps."""
        T = X.shape[-2]
        check_positions(offset, T, self.max_len)
        rows = self.turns[offset : offset + T].astype(X.dtype)
        return rows[:, 0], rows[:, 1]

    def swapped(self, X: np.ndarray) -> np.ndarray:
        """Return each number's partner in its place."""
        if self.layout == "halves":
            half = X.shape[-1] // 2
            return np.concatenate((X[..., half:], X[..., :half]), axis=-1)
        return X.reshape(*X.shape[:-1], -1, 2)[..., ::-1].reshape(X.shape)
