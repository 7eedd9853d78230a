"""Pictures of attention weights and of the loss, drawn with matplotlib, which the extra ``report`` brings.

matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import PictureError
from ..printable import printable

CELL = 0.3  # inches a token takes
SMALLEST = 1.3  # inches of a panel, so that its title fits
SCALE = 3.0  # inches that the color scale is tall at most
COLORS = "viridis"  # its zero is dark, so that a masked cell, which is blank, is none
# For characters that matplotlib's own font lacks: the first of these that is installed.
WIDE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)


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


def require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PictureError(
            "Pictures need matplotlib, which is not installed. Install it with: pip install 'transformer_mb[report]'."
        ) from None


def attention_figure(kinds: Sequence[Attention], title: str = "") -> Any:
    """A matplotlib Figure: for each kind a row of panels a layer, a column a head; masked cells stay blank."""
    for kind in kinds:
        kind.check()
    figure = _new_figure()
    sizes = [_panel_size(kind) for kind in kinds]
    heads = max(layer.shape[0] for kind in kinds for layer in kind.layers)
    heights = [len(kind.layers) * (size[1] + 0.15 + _label_height(kind)) + 0.9 for kind, size in zip(kinds, sizes, strict=True)]
    figure.set_size_inches(heads * (max(width for width, _ in sizes) + 0.15) + 2.2, sum(heights) + (0.4 if title else 0.0))
    if title:
        figure.suptitle(_plain(title), fontsize=11, **_fonts())
    parts = np.atleast_1d(figure.subfigures(len(kinds), 1, height_ratios=heights))
    for kind, part, height in zip(kinds, parts, heights, strict=True):
        _draw_kind(part, kind, heads, min(0.7, SCALE / height))
    return figure


def _draw_kind(part: Any, kind: Attention, heads: int, shrink: float) -> None:
    import matplotlib

    colors, fonts = matplotlib.colormaps[COLORS].with_extremes(bad="white"), _fonts()
    part.suptitle(_plain(f"{kind.title}: where each row's token looks"), fontsize=10, **fonts)
    panels = part.subplots(len(kind.layers), heads, sharex=True, sharey=True, squeeze=False)
    images = []
    for row, (layer, weights) in enumerate(zip(panels, kind.layers, strict=True)):
        for head, panel in enumerate(layer):
            if head >= len(weights):
                panel.set_visible(False)  # another kind has more heads
                continue
            images.append(_draw_panel(panel, kind, weights[head], cmap=colors, **fonts))
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
    panel.set_xticks(range(len(kind.keys)), [_plain(key) for key in kind.keys], rotation=90, fontsize=8, **fonts)
    panel.set_yticks(range(len(kind.queries)), [_plain(query) for query in kind.queries], fontsize=8, **fonts)
    panel.tick_params(length=0, labelbottom=True)
    return image


def loss_figure(losses: Sequence[float], title: str, label: str) -> Any:
    """A matplotlib Figure of the loss by epoch; label says how it is counted."""
    return curve_figure(range(1, len(losses) + 1), losses, x="epoch", y=label, title=f"{title}: {losses[-1]:.4g} at the end")


def curve_figure(xs: Sequence[float], ys: Sequence[float], *, x: str, y: str, title: str) -> Any:
    """A matplotlib Figure of one curve; its axis is logarithmic where the curve falls or rises far."""
    figure = _new_figure()
    figure.set_size_inches(7.0, 4.2)
    axes = figure.add_subplot()
    axes.plot(list(xs), list(ys), marker="." if len(xs) < 30 else None, linewidth=1.5)
    if min(ys) > 0 and max(ys) > 10 * min(ys):
        axes.set_yscale("log")
    if all(float(one).is_integer() for one in xs):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(_plain(x))
    axes.set_ylabel(_plain(y))
    axes.set_title(_plain(title), fontsize=11)
    axes.grid(alpha=0.3)
    return figure


def _new_figure() -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure

    # Figure itself rather than pyplot: no window system is asked for, and no figure is kept after its last use.
    return Figure(layout="constrained")


def _fonts() -> dict[str, list[str]]:
    """The text property that lets other alphabets fall back to fonts that have them."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return {"fontfamily": ["DejaVu Sans", *(font for font in WIDE_FONTS if font in installed), "sans-serif"]}


def _panel_size(kind: Attention) -> tuple[float, float]:
    return max(SMALLEST, CELL * len(kind.keys)), max(SMALLEST, CELL * len(kind.queries))


def _label_height(kind: Attention) -> float:
    """Inches below a panel that the longest of its upright tokens takes."""
    return 0.1 + 0.075 * max(map(len, kind.keys))


def _plain(text: str) -> str:
    """Between two dollar signs matplotlib would read mathematics, and XML has no place for control characters."""
    return printable(text).replace("$", r"\$")
