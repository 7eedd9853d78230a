"""The cost of a token for each backend: against length, batch, width, depth and vocabulary, and the memory of a training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .look import RULE, SOFT, line_of, new_figure, quiet

LABELS = {
    "length": "tokens in a sentence", "tokens": "tokens in a batch", "rows": "sentences at a time", "width": "width",
    "depth": "layers on each side", "vocabulary": "words",
}  # fmt: skip
PLACES = ("length", "batch", "width", "depth", "vocabulary")
BATCH = {"training": "tokens", "decoding": "rows"}  # what a larger batch has more of


def cost(one: Mapping[str, Any]) -> float:
    """Return the microseconds that a token takes."""
    return 1e6 * one["seconds"] / one["tokens"]


def memory(one: Mapping[str, Any]) -> int:
    """Return MiB."""
    return one["memory_MiB"]


PANELS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], float]], ...] = (
    ("training", "µs per token", cost),
    ("decoding", "µs per token", cost),
    ("training", "MiB", memory),
)


def draw(record: Mapping[str, Any]) -> Any:
    """Return the figure of what ``benchmarks/curves.py`` wrote."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    results, point = record["results"], record["point"]
    backends = list(dict.fromkeys(one["backend"] for one in results))
    figure = new_figure(13.5, 8.4)
    for row, (work, unit, of) in zip(figure.subplots(len(PANELS), len(PLACES)), PANELS, strict=True):
        row[0].set_ylabel(f"{work}: {unit}", color=SOFT)
        for place, axes in zip(PLACES, row, strict=True):
            axis = BATCH[work] if place == "batch" else place
            for backend in backends:
                axes.plot(
                    *zip(*curve(results, point, backend, work, axis, of), strict=True), **line_of(backend), marker="o", ms=3
                )
            values = sorted({one["value"] for one in results if one["axis"] == axis} | {point[axis]})
            axes.set(xscale="log", yscale="log")
            axes.set_xlabel(LABELS[axis], color=SOFT)
            axes.set_xticks(values, [f"{value:,}" for value in values])
            axes.minorticks_off()
            axes.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter=ScalarFormatter())
            quiet(axes)
            axes.grid(color=RULE, linewidth=0.6)
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(backends), frameon=False, handlelength=3.2)
    return figure


def curve(
    results: Sequence[Mapping[str, Any]],
    point: Mapping[str, int],
    backend: str,
    work: str,
    axis: str,
    of: Callable[[Mapping[str, Any]], float],
) -> list[tuple[int, float]]:
    """Return pairs of a value of the axis and its figure; the common point lies on every axis."""
    own = [one for one in results if (one["backend"], one["work"]) == (backend, work) and "failed" not in one]
    return sorted((one["value"] or point[axis], of(one)) for one in own if one["axis"] in (axis, None))
