"""The matrix as a heat map: the share of its limit that the worst cell of a row takes, by backend and dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from transformer_mb.built_in import EVERY_DTYPE

from .look import INK, SOFT, new_figure

COLORS = "viridis"
DARK = 0.5  # shares below it are dark colors, which take white letters


def shares(results: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], float | None]:
    """Return by row, dtype and backend the largest share of a limit; None where all passed and none is measured so.

    A failed cell counts as more than its limit.
    """
    found: dict[tuple[str, str, str], float | None] = {}
    for one in results:
        key = one["row"], one["dtype"], one["backend"]
        share = one["error"] / one["limit"] if one["error"] is not None and one["limit"] else None
        if one["status"] not in ("passed", "expected failure"):
            share = max(share or 0.0, 1.01)
        before = found.setdefault(key, share)
        if share is not None and (before is None or share > before):
            found[key] = share
    return found


def draw(run: Mapping[str, Any]) -> Any:
    """Return the figure of what ``parity --json`` wrote: a panel per dtype."""
    import matplotlib

    found = shares(run["results"])
    rows = list(dict.fromkeys(row for row, _, _ in found))
    dtypes = [dtype for dtype in EVERY_DTYPE if any(key[1] == dtype for key in found)]
    backends = {dtype: [one for one in run["versions"] if any(key[1:] == (dtype, one) for key in found)] for dtype in dtypes}
    colors = matplotlib.colormaps[COLORS]
    figure = new_figure(11.5, 7.4)
    panels = figure.subplots(1, len(dtypes), sharey=True, width_ratios=[len(backends[dtype]) for dtype in dtypes])
    for dtype, panel in zip(dtypes, panels, strict=True):
        for x, backend in enumerate(backends[dtype]):
            for y, row in enumerate(rows):
                if (row, dtype, backend) in found:
                    _cell(panel, x, y, found[row, dtype, backend], colors)
        panel.set(xlim=(-0.5, len(backends[dtype]) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        panel.set_title(dtype, fontsize=11, color=INK)
        panel.set_xticks(range(len(backends[dtype])), backends[dtype], rotation=40, ha="left", rotation_mode="anchor")
        panel.set_yticks(range(len(rows)), rows)
        panel.tick_params(length=0, labelsize=9, labelcolor=INK, top=True, labeltop=True, bottom=False, labelbottom=False)
        panel.spines[:].set_visible(False)
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0.0, 1.0), colors)
    bar = figure.colorbar(scale, ax=panels, location="bottom", shrink=0.35, aspect=35, pad=0.02, format="{x:.0%}")
    bar.set_label("share of its limit that the worst cell of a row takes (✓: passed, with no figure)", color=SOFT, fontsize=9)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=SOFT)
    bar.outline.set_visible(False)
    return figure


def _cell(panel: Any, x: int, y: int, share: float | None, colors: Any) -> None:
    from matplotlib.patches import Rectangle

    failed = share is not None and share > 1.0
    face = "#eef0f2" if share is None else "#ffffff" if failed else colors(share)
    edge = "#b3261e" if failed else "white"
    panel.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=face, edgecolor=edge, linewidth=1.5 if failed else 0))
    text = "✓" if share is None else "✗" if failed else "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"
    ink = edge if failed else INK if share is None or share >= DARK else "white"
    panel.text(x, y, text, ha="center", va="center", fontsize=8, color=ink)
