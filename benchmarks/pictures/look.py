"""The common look of the pictures: a figure without a window, and the same color and dashes for a backend in all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Dashes of different lengths: lines that lie on each other show through one another.
LINES = {
    "numpy": ("#00798c", "solid"),
    "torch": ("#d1495b", (0, (9, 3))),
    "tensorflow": ("#8a6d00", (0, (5, 3))),
    "paddle": ("#6a4c93", (0, (2, 3))),
    "mxnet": ("#3a6ea5", (0, (9, 3, 2, 3))),
    "jax": ("#7a5230", (0, (1, 3))),
}
INK, SOFT, RULE = "#1c1f24", "#5a616b", "#d9dce1"
DOTS = 110  # per inch


def new_figure(width: float, height: float) -> Any:
    """Return a matplotlib Figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def line_of(backend: str) -> dict[str, Any]:
    """Return how a backend's line is drawn."""
    color, dashes = LINES.get(backend, (SOFT, "solid"))
    return {"color": color, "linestyle": dashes, "linewidth": 1.8, "label": backend}


def quiet(axes: Any) -> None:
    """Take from axes what says nothing: the frame, and marks on the ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.tick_params(length=0, labelsize=9, labelcolor=SOFT)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG, the same bytes each time: without the version that drew it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=DOTS, metadata={"Software": None})
