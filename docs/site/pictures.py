"""Pictures of arrays: each a grid of cells shaded by its numbers, with its name, axes and shape, and what happens in between.

The colours are the page's own (`docs/_static/site.css`), so that a picture is readable on light and on dark.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CELL = 15
MARGIN, GAP = 14, 16
TOP, BOTTOM = 20, 34  # of an array: for its name, and for its shape and a remark
CHARACTER = 7.2  # the width of a letter, about


@dataclass(frozen=True)
class Grid:
    """An array [rows, columns] as a grid.

    axes: the letters of both. hidden: boolean, True where a cell is crossed out. marked: boolean, True where it is framed.
    words: a text for each cell.
    """

    name: str
    axes: tuple[str, str]
    values: np.ndarray
    remark: str = ""
    hidden: np.ndarray | None = None
    marked: np.ndarray | None = None
    words: Sequence[Sequence[str]] | None = None

    @property
    def cell(self) -> float:
        if self.words is None:
            return CELL
        return max(CELL, 8 + CHARACTER * max(len(word) for row in self.words for word in row))

    @property
    def size(self) -> tuple[float, float]:
        rows, columns = self.values.shape
        text = max(len(self.name), len(self.shape), len(self.remark)) * CHARACTER
        return max(columns * self.cell, text), rows * CELL + TOP + BOTTOM

    @property
    def shape(self) -> str:
        rows, columns = self.values.shape
        names = [axis for axis in self.axes if axis]
        sizes = [str(size) for axis, size in zip(self.axes, (rows, columns), strict=True) if axis]
        return f"[{', '.join(names)}] = [{', '.join(sizes)}]"

    def draw(self, x: float, y: float) -> str:
        """The parts of an SVG, the upper left corner at x, y."""
        rows, columns = self.values.shape
        width = self.size[0]
        left, top = x + (width - columns * self.cell) / 2, y + TOP
        largest = max(float(np.abs(np.where(np.isfinite(self.values), self.values, 0.0)).max()), 1e-12)
        parts = [f'<text class="name" x="{x + width / 2:.1f}" y="{y + 12:.1f}">{html.escape(self.name)}</text>']
        for row in range(rows):
            for column in range(columns):
                cell_left, cell_top = left + column * self.cell, top + row * CELL
                value = float(self.values[row, column])
                crossed = self.hidden is not None and bool(self.hidden[row, column])
                kind = "hidden" if crossed else "plus" if value >= 0 else "minus"
                opacity = 1.0 if crossed else abs(value) / largest * (1.0 if self.words is None else 0.4)  # words stay readable
                box = f'x="{cell_left:.1f}" y="{cell_top:.1f}" width="{self.cell:.1f}" height="{CELL}"'
                parts.append(f'<rect class="cell {kind}" {box} fill-opacity="{opacity:.2f}"/>')
                if crossed:
                    corner = f"{cell_left + self.cell:.1f}"
                    parts.append(f'<path class="cross" d="M{cell_left:.1f} {cell_top + CELL:.1f}L{corner} {cell_top:.1f}"/>')
                if self.words is not None:
                    place = f'x="{cell_left + self.cell / 2:.1f}" y="{cell_top + 11:.1f}"'
                    parts.append(f'<text class="word" {place}>{html.escape(self.words[row][column])}</text>')
        if self.marked is not None:
            for row, column in np.argwhere(self.marked):
                box = f'x="{left + column * self.cell:.1f}" y="{top + row * CELL:.1f}" width="{self.cell:.1f}" height="{CELL}"'
                parts.append(f'<rect class="mark" {box}/>')
        under = top + rows * CELL
        parts.append(f'<text class="shape" x="{x + width / 2:.1f}" y="{under + 14:.1f}">{html.escape(self.shape)}</text>')
        if self.remark:
            parts.append(f'<text class="remark" x="{x + width / 2:.1f}" y="{under + 28:.1f}">{html.escape(self.remark)}</text>')
        return "".join(parts)


@dataclass(frozen=True)
class Step:
    """A step between two arrays: a sign such as ×, or words over an arrow."""

    text: str
    arrow: bool = False

    @property
    def size(self) -> tuple[float, float]:
        return (len(self.text) * CHARACTER + 8 if self.arrow else 14.0), 0.0

    def draw(self, x: float, middle: float) -> str:
        """The parts of an SVG, from x on, at the height of the grids' middle."""
        width = self.size[0]
        if not self.arrow:
            return f'<text class="sign" x="{x + width / 2:.1f}" y="{middle + 6:.1f}">{html.escape(self.text)}</text>'
        line = f'<path class="arrow" d="M{x:.1f} {middle:.1f}h{width - 2:.1f}m-6 -4l6 4l-6 4"/>'
        return f'<text class="over" x="{x + width / 2:.1f}" y="{middle - 7:.1f}">{html.escape(self.text)}</text>{line}'


def picture(rows: Sequence[Sequence[Grid | Step]], title: str) -> str:
    """An SVG of the rows below each other; ``title`` says in words what it shows."""
    parts, y, widest = [], float(MARGIN), 0.0
    for row in rows:
        height = max(item.size[1] for item in row)
        x = float(MARGIN)
        for item in row:
            if isinstance(item, Grid):
                parts.append(item.draw(x, y + (height - item.size[1]) / 2))
            else:
                parts.append(item.draw(x, y + TOP + (height - TOP - BOTTOM) / 2))
            x += item.size[0] + GAP
        widest, y = max(widest, x), y + height + GAP
    body, size = "".join(parts), f"{widest:.0f} {y:.0f}"
    label = html.escape(title, quote=True)
    return (
        f'<figure class="picture"><svg role="img" aria-label="{label}" viewBox="0 0 {size}" width="{widest:.0f}">{body}</svg>'
        f"<figcaption>{html.escape(title)}</figcaption></figure>"
    )
