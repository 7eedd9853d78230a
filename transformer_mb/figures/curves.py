"""Losses and differences over training as matplotlib figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..printable import counted
from .files import save_figure
from .style import new_figure, plain

LABELS = {"steps": "loss per target token, by D2L's count", "tokens": "loss per target token"}
PERTURBED_RUNS = {"float64": "perturbed runs of the reference", "float32": "runs of NumPy in float32"}


def loss_figure(losses: Sequence[float], title: str, label: str) -> Any:
    """A matplotlib Figure of the loss by epoch; label says how it is counted."""
    return curve_figure(range(1, len(losses) + 1), losses, x="epoch", y=label, title=f"{title}: {losses[-1]:.4g} at the end")


def curve_figure(xs: Sequence[float], ys: Sequence[float], *, x: str, y: str, title: str) -> Any:
    """A matplotlib Figure of one curve; its axis is logarithmic where the curve falls or rises far."""
    figure = new_figure()
    figure.set_size_inches(7.0, 4.2)
    axes = figure.add_subplot()
    axes.plot(list(xs), list(ys), marker="." if len(xs) < 30 else None, linewidth=1.5)
    if min(ys) > 0 and max(ys) > 10 * min(ys):
        axes.set_yscale("log")
    if all(float(one).is_integer() for one in xs):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(plain(x))
    axes.set_ylabel(plain(y))
    axes.set_title(plain(title), fontsize=11)
    axes.grid(alpha=0.3)
    return figure


def draw_losses(path: Path | None, losses: Sequence[float], normalization: str, source: str | None = None) -> None:
    """The losses of all finished epochs in a file; nothing before the first has ended. ``source``: see ``save_figure``."""
    if path is not None and losses:
        save_figure(loss_figure(losses, f"Training, {counted(len(losses), 'epoch')}", LABELS[normalization]), path, source)


class Divergence(Protocol):
    """Two figures by step: a run's relative difference of the loss, and how far the reference's perturbed runs stray."""

    @property
    def divergence(self) -> np.ndarray: ...
    @property
    def band(self) -> np.ndarray: ...


def divergence_figure(dtype: str, curves: Mapping[str, Divergence], losses: np.ndarray, limit: float) -> Any:
    """A panel per backend, and the reference's loss in the last. limit: how many times the band is allowed."""
    perturbed = PERTURBED_RUNS[dtype]
    figure = new_figure()
    figure.set_size_inches(13.0, 7.0)
    panels = figure.subplots(2, -(-(len(curves) + 1) // 2), squeeze=False)
    free = iter(panels.flat)
    for name, curve in curves.items():
        panel, steps = next(free), np.arange(len(curve.band))
        panel.fill_between(steps, 1e-18, curve.band, color="0.8", label=perturbed)
        panel.plot(steps, limit * curve.band, color="0.4", linestyle=":", label=f"limit ({limit:g}x)")
        panel.plot(steps, np.maximum(curve.divergence, 1e-17), color="C0", linewidth=1.0, label=name)
        panel.set(yscale="log", ylim=(1e-17, 10), title=name, xlabel="step", ylabel="relative difference of the loss")
        panel.legend(loc="lower right", fontsize="small")
    panel = next(free)
    panel.plot(losses, color="C1")
    panel.set(title="loss of the reference", xlabel="step", ylabel="summed loss of a batch")
    for panel in free:
        panel.axis("off")
    figure.suptitle(f"Free-running training in {dtype}: the grey band is how far {perturbed} stray, as few as suffice")
    return figure
