"""The size of an attention figure's panels, so that the whole can be read and is bounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .kind import Attention

LARGEST = (16.0, 24.0)  # inches of a figure
CELLS = (0.3, 0.22, 0.17, 0.13)  # inches that a token takes; below the last, labels of 8 points touch
SMALLEST = 1.3  # inches of a panel, so that its title fits
MARGIN, GAP, HEADING, TITLE = 2.2, 0.15, 0.9, 0.4  # beside, between and above the panels, and above all
LETTER = 0.09  # inches that a letter of the title takes
LONGEST_LABEL = 20  # characters


@dataclass(frozen=True)
class PanelSize:
    """width_of_cell, height_of_cell: inches of a token's column and row. every_key, every_query: tokens to a label."""

    width_of_cell: float
    height_of_cell: float
    columns: int
    averaged: bool = False
    last_layer: bool = False

    @property
    def every_key(self) -> int:
        return math.ceil(CELLS[-1] / self.width_of_cell)

    @property
    def every_query(self) -> int:
        return math.ceil(CELLS[-1] / self.height_of_cell)

    def labels(self, tokens: Sequence[str], every: int) -> dict[int, str]:
        """The tokens that are written, by position, and as much of each as has place."""
        return {place: shortened(tokens[place], LONGEST_LABEL) for place in range(0, len(tokens), every)}

    def width(self, kind: Attention) -> float:
        return max(SMALLEST, self.width_of_cell * len(kind.keys)) + GAP

    def height(self, kind: Attention) -> float:
        """The height of all panels of a kind with their labels."""
        rows = 1 if self.averaged else len(kind.layers)
        longest = max(len(label) for label in self.labels(kind.keys, 1).values())
        panel = max(SMALLEST, self.height_of_cell * len(kind.queries)) + GAP + 0.1 + 0.075 * longest
        return rows * panel + HEADING

    def figure(self, kinds: Sequence[Attention], title: bool) -> tuple[float, float]:
        """Width and height in inches."""
        width = self.columns * max(self.width(kind) for kind in kinds) + MARGIN
        return width, sum(self.height(kind) for kind in kinds) + (TITLE if title else 0.0)

    def fits(self, kinds: Sequence[Attention]) -> bool:
        width, height = self.figure(kinds, title=True)
        return width <= LARGEST[0] and height <= LARGEST[1]


def panel_size(kinds: Sequence[Attention]) -> PanelSize:
    """All heads of all layers where their tokens can be told apart, else the mean of each layer's, else of the last layer's."""
    heads = max(layer.shape[0] for kind in kinds for layer in kind.layers)
    layers = max(len(kind.layers) for kind in kinds)
    smallest = PanelSize(0.0, 0.0, 1, averaged=True, last_layer=True)
    for way in (PanelSize(0.0, 0.0, heads), PanelSize(0.0, 0.0, layers, averaged=True), smallest):
        for cell in CELLS:
            size = replace(way, width_of_cell=cell, height_of_cell=cell)
            if size.fits(kinds):
                return size
    # Cells as small as it takes; not every token has its label then.
    width, height = smallest.figure(kinds, title=True)
    cell_width = (LARGEST[0] - width + SMALLEST) / max(len(kind.keys) for kind in kinds)
    cell_height = (LARGEST[1] - height + SMALLEST * len(kinds)) / sum(len(kind.queries) for kind in kinds)
    return replace(smallest, width_of_cell=min(cell_width, CELLS[-1]), height_of_cell=min(cell_height, CELLS[-1]))


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
