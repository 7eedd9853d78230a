"""Draws docs/parity.png from the measured matrix: the errors of all cells, by row, dtype and backend."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
DTYPES = {"float64": "o", "float32": "s"}
LEAST = 1e-17  # where an error of exactly zero is drawn


def draw(results: Path, picture: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cells = [cell for cell in json.loads(results.read_text())["results"] if cell["error"] is not None]
    rows = list(dict.fromkeys(cell["row"] for cell in cells))
    backends = list(dict.fromkeys(cell["backend"] for cell in cells))
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for number, backend in enumerate(backends):
        for dtype, marker in DTYPES.items():
            own = [cell for cell in cells if (cell["backend"], cell["dtype"]) == (backend, dtype)]
            heights = [rows.index(cell["row"]) + 0.12 * (number - len(backends) / 2) for cell in own]
            errors = [max(float(cell["error"]), LEAST) for cell in own]
            label = backend if dtype == "float64" else None
            axes.scatter(errors, heights, s=5, marker=marker, color=f"C{number}", label=label, linewidths=0, alpha=0.6)
    axes.set(xscale="log", xlabel="relative error against the float64 reference", yticks=range(len(rows)), yticklabels=rows)
    axes.invert_yaxis()
    axes.grid(axis="x", color="0.9")
    for error, dtype in ((3e-16, "float64"), (3e-7, "float32")):
        axes.annotate(dtype, (error, 1.01), xycoords=("data", "axes fraction"), ha="center")
    figure.legend(loc="outside upper center", ncols=len(backends), markerscale=3, frameon=False)
    FigureCanvasAgg(figure)
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    draw(ROOT / "benchmarks" / "results" / "parity_cpu.json", ROOT / "docs" / "parity.png")
