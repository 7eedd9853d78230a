"""The losses of one training on six backends: lines that lie on each other until rounding has grown, and where it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .look import RULE, SOFT, line_of, new_figure, quiet


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
            right.plot(steps, np.maximum(apart, 1e-8), **line_of(name))
    spread = np.median(np.abs(reference / np.roll(reference, 1, axis=0) - 1.0), axis=0)
    right.plot(steps, spread, color=SOFT, linewidth=1.2, label="between two seeds")
    left.set(xlabel="step", ylabel="loss per token", yscale="log")
    left.set_yticks([2, 3, 4, 5], ["2", "3", "4", "5"])
    left.minorticks_off()
    right.set(xlabel="step", ylabel=f"relative difference from {record['reference']}", yscale="log")
    for axes in (left, right):
        quiet(axes)
        axes.grid(axis="y", color=RULE, linewidth=0.6)
        axes.legend(frameon=False, fontsize=8, labelcolor=SOFT, handlelength=3.2)
    return figure
