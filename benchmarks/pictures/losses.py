"""The losses of one training on six backends: lines that lie on each other, and how far rounding takes them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .look import RULE, SOFT, line_of, new_figure, quiet

LEAST = 1e-5  # as far as five digits tell


def draw(record: Mapping[str, Any]) -> Any:
    """Return the figure of the curves that ``compare runs --json`` wrote: medians over the seeds, and what they differ by."""
    steps, losses = record["curves"]["steps"], {name: np.array(runs) for name, runs in record["curves"]["losses"].items()}
    reference = losses[record["reference"]]
    figure = new_figure(11.5, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    left.fill_between(steps, reference.min(axis=0), reference.max(axis=0), color=RULE, linewidth=0, label="all seeds")
    for name, runs in losses.items():
        left.plot(steps, np.median(runs, axis=0), **line_of(name))
        if name != record["reference"]:
            apart = np.median(np.abs(runs / reference - 1.0), axis=0)
            right.plot(steps, np.maximum(apart, LEAST), **line_of(name))
    spread = np.median(np.abs(reference / np.roll(reference, 1, axis=0) - 1.0), axis=0)
    right.plot(steps, spread, color=SOFT, linewidth=1.2)
    right.annotate("between two seeds", (steps[-1], spread.max()), ha="right", va="bottom", color=SOFT, fontsize=9)
    left.set(xlabel="step", ylabel="loss per token", yscale="log")
    left.set_yticks([2, 3, 4, 5], ["2", "3", "4", "5"])
    left.minorticks_off()
    left.legend(frameon=False, fontsize=9, labelcolor=SOFT, handlelength=3.2)
    right.set(xlabel="step", ylabel=f"relative difference from {record['reference']}", yscale="log", ylim=(0.7 * LEAST, 0.2))
    right.set_yticks(
        [1e-5, 1e-4, 1e-3, 1e-2, 1e-1], ["less than $10^{-5}$", *(f"$10^{{{power}}}$" for power in (-4, -3, -2, -1))]
    )
    right.minorticks_off()
    for axes in (left, right):
        quiet(axes)
        axes.xaxis.label.set_color(SOFT)
        axes.yaxis.label.set_color(SOFT)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
    return figure
