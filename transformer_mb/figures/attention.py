"""Attention weights as a matplotlib figure: a row of panels per layer, a column per head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import PictureError
from .style import fonts, new_figure, plain

CELL = 0.3  # inches a token takes
SMALLEST = 1.3  # inches of a panel, so that its title fits
SCALE = 3.0  # inches that the color scale is tall at most
COLORS = "viridis"  # its zero is dark, so that a masked cell, which is blank, is none


class Attention(NamedTuple):
    """One kind of attention in one sentence.

    queries, keys: the tokens of rows and columns. layers: weights [H, T, S], one array a layer. allowed: [T, S] bool, False
    where a mask forbids attending; None allows all.
    """

    title: str
    queries: Sequence[str]
    keys: Sequence[str]
    layers: Sequence[np.ndarray]
    allowed: np.ndarray | None = None

    def check(self) -> None:
        expected = (len(self.queries), len(self.keys))
        for part in (*self.layers, *([] if self.allowed is None else [self.allowed])):
            if tuple(part.shape[-2:]) != expected:
                raise PictureError(
                    f"The weights of {self.title!r} must end in the sizes {list(expected)} as it has tokens, got "
                    f"{list(part.shape)}."
                )


def attention_figure(kinds: Sequence[Attention], title: str = "") -> Any:
    """A matplotlib Figure: for each kind a row of panels a layer, a column a head; masked cells stay blank."""
    for kind in kinds:
        kind.check()
    figure = new_figure()
    sizes = [_panel_size(kind) for kind in kinds]
    heads = max(layer.shape[0] for kind in kinds for layer in kind.layers)
    heights = [len(kind.layers) * (size[1] + 0.15 + _label_height(kind)) + 0.9 for kind, size in zip(kinds, sizes, strict=True)]
    figure.set_size_inches(heads * (max(width for width, _ in sizes) + 0.15) + 2.2, sum(heights) + (0.4 if title else 0.0))
    if title:
        figure.suptitle(plain(title), fontsize=11, **fonts())
    parts = np.atleast_1d(figure.subfigures(len(kinds), 1, height_ratios=heights))
    for kind, part, height in zip(kinds, parts, heights, strict=True):
        _draw_kind(part, kind, heads, min(0.7, SCALE / height))
    return figure


def _draw_kind(part: Any, kind: Attention, heads: int, shrink: float) -> None:
    import matplotlib

    colors, family = matplotlib.colormaps[COLORS].with_extremes(bad="white"), fonts()
    part.suptitle(plain(f"{kind.title}: where each row's token looks"), fontsize=10, **family)
    panels = part.subplots(len(kind.layers), heads, sharex=True, sharey=True, squeeze=False)
    images = []
    for row, (layer, weights) in enumerate(zip(panels, kind.layers, strict=True)):
        for head, panel in enumerate(layer):
            if head >= len(weights):
                panel.set_visible(False)  # another kind has more heads
                continue
            images.append(_draw_panel(panel, kind, weights[head], cmap=colors, **family))
            if row == 0:
                panel.set_title(f"head {head + 1}", fontsize=9)
            if head == 0:
                panel.set_ylabel(f"layer {row + 1}", fontsize=9)
    part.colorbar(images[0], ax=panels, shrink=shrink, aspect=25, pad=0.01).ax.tick_params(labelsize=8)


def _draw_panel(panel: Any, kind: Attention, weights: np.ndarray, cmap: Any, **fonts: Any) -> Any:
    cells = np.asarray(weights, dtype=float)
    if kind.allowed is not None:
        cells = np.ma.masked_where(~kind.allowed, cells)
    image = panel.imshow(cells, cmap=cmap, vmin=0.0, vmax=1.0, aspect="auto")
    panel.set_xticks(range(len(kind.keys)), [plain(key) for key in kind.keys], rotation=90, fontsize=8, **fonts)
    panel.set_yticks(range(len(kind.queries)), [plain(query) for query in kind.queries], fontsize=8, **fonts)
    panel.tick_params(length=0, labelbottom=True)
    return image


def _panel_size(kind: Attention) -> tuple[float, float]:
    return max(SMALLEST, CELL * len(kind.keys)), max(SMALLEST, CELL * len(kind.queries))


def _label_height(kind: Attention) -> float:
    """Inches below a panel that the longest of its upright tokens takes."""
    return 0.1 + 0.075 * max(map(len, kind.keys))
