"""Attention weights as a matplotlib figure: a row of panels per layer, a column per head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .kind import Attention
from .panel_size import LETTER, PanelSize, panel_size, shortened
from .style import fonts, new_figure, plain

SCALE = 3.0  # inches that the color scale is tall at most
COLORS = "viridis"  # its zero is dark, so that a masked cell, which is blank, is none


def attention_figure(kinds: Sequence[Attention], title: str = "") -> Any:
    """A matplotlib Figure of at most ``panel_size.LARGEST`` inches; masked cells stay blank.

    For each kind a row of panels a layer, a column a head. Of long sentences, whose panels would be too small to be read so,
    a panel a layer with the mean of its heads, and where even these are many, the last layer's alone.
    """
    for kind in kinds:
        kind.check()
    size = panel_size(kinds)
    if size.last_layer:
        kinds = [kind._replace(layers=kind.layers[-1:], first_layer=len(kind.layers)) for kind in kinds]
    figure = new_figure()
    width, height = size.figure(kinds, bool(title))
    figure.set_size_inches(width, height)
    if title:
        figure.suptitle(plain(shortened(title, int(width / LETTER))), fontsize=11, **fonts())
    heights = [size.height(kind) for kind in kinds]
    parts = np.atleast_1d(figure.subfigures(len(kinds), 1, height_ratios=heights))
    for kind, part, height in zip(kinds, parts, heights, strict=True):
        _draw_kind(part, kind, size, min(0.7, SCALE / height))
    return figure


def _draw_kind(part: Any, kind: Attention, size: PanelSize, shrink: float) -> None:
    import matplotlib

    colors, family = matplotlib.colormaps[COLORS].with_extremes(bad="white"), fonts()
    part.suptitle(plain(f"{kind.title}: where each row's token looks"), fontsize=10, **family)
    drawn = kind.panels(size.averaged)
    panels = part.subplots(len(drawn), size.columns, sharex=True, sharey=True, squeeze=False)
    images = []
    for row, places in zip(drawn, panels, strict=True):
        for panel in places[len(row) :]:
            panel.set_visible(False)  # another kind has more heads
        for (above, beside, weights), panel in zip(row, places, strict=False):
            images.append(_draw_panel(panel, kind, weights, size, cmap=colors, **family))
            panel.set_title(above, fontsize=9)
            panel.set_ylabel(beside, fontsize=9)
    part.colorbar(images[0], ax=panels, shrink=shrink, aspect=25, pad=0.01).ax.tick_params(labelsize=8)


def _draw_panel(panel: Any, kind: Attention, weights: np.ndarray, size: PanelSize, cmap: Any, **fonts: Any) -> Any:
    cells = np.asarray(weights, dtype=float)
    if kind.allowed is not None:
        cells = np.ma.masked_where(~kind.allowed, cells)
    image = panel.imshow(cells, cmap=cmap, vmin=0.0, vmax=1.0, aspect="auto")
    keys, queries = size.labels(kind.keys, size.every_key), size.labels(kind.queries, size.every_query)
    panel.set_xticks([*keys], [plain(key) for key in keys.values()], rotation=90, fontsize=8, **fonts)
    panel.set_yticks([*queries], [plain(query) for query in queries.values()], fontsize=8, **fonts)
    panel.tick_params(length=0, labelbottom=True)
    return image
