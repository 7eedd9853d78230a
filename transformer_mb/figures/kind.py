"""The weights of one kind of attention, as panels to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import PictureError
from ..printable import counted


class Attention(NamedTuple):
    """The attention of one kind in one sentence.

    queries, keys: the tokens of rows and columns. layers: weights [H, T, S], one array a layer. allowed: [T, S] bool, False
    where a mask forbids attending; None allows all. first_layer: the number of the first of ``layers``.
    """

    title: str
    queries: Sequence[str]
    keys: Sequence[str]
    layers: Sequence[np.ndarray]
    allowed: np.ndarray | None = None
    first_layer: int = 1

    def check(self) -> None:
        expected = (len(self.queries), len(self.keys))
        for part in (*self.layers, *([] if self.allowed is None else [self.allowed])):
            if tuple(part.shape[-2:]) != expected:
                raise PictureError(
                    f"The weights of {self.title!r} must end in the sizes {list(expected)} as it has tokens, got "
                    f"{list(part.shape)}."
                )

    def panels(self, averaged: bool) -> list[list[tuple[str, str, np.ndarray]]]:
        """Rows of panels, each with what stands above it, what stands beside it, and its weights [T, S].

        ``averaged``: one panel a layer, side by side, with the mean of its heads.
        """
        if averaged:
            numbers = range(self.first_layer, self.first_layer + len(self.layers))
            return [
                [
                    (f"layer {n}, mean of {counted(len(one), 'head')}", "", one.mean(0))
                    for n, one in zip(numbers, self.layers, strict=True)
                ]
            ]
        return [
            [
                (f"head {head}" if row == 1 else "", f"layer {row}" if head == 1 else "", one)
                for head, one in enumerate(layer, 1)
            ]
            for row, layer in enumerate(self.layers, 1)
        ]
