"""Training curves: each backend's difference from the oracle over the band of the oracle's twins (see ``bands``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..parity.bands import TIMES, Curve

TWINS_OF = {"float64": "the oracle's twins", "float32": "runs of NumPy in float32"}


def draw_curves(folder: Path, dtype: str, curves: Mapping[str, Curve], losses: np.ndarray) -> Path:
    """One panel a backend, and the oracle's loss in the last; a PNG in the folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, -(-(len(curves) + 1) // 2), figsize=(13, 7), squeeze=False, layout="constrained")
    free = iter(panels.flat)
    for backend, curve in curves.items():
        panel, steps = next(free), np.arange(len(curve.band))
        panel.fill_between(steps, 1e-18, curve.band, color="0.8", label=TWINS_OF[dtype])
        panel.plot(steps, TIMES * curve.band, color="0.4", linestyle=":", label=f"limit ({TIMES:g}x)")
        panel.plot(steps, np.maximum(curve.divergence, 1e-17), color="C0", linewidth=1.0, label=backend)
        panel.set(yscale="log", ylim=(1e-17, 10), title=backend, xlabel="step", ylabel="relative difference of the loss")
        panel.legend(loc="lower right", fontsize="small")
    panel = next(free)
    panel.plot(losses, color="C1")
    panel.set(title="loss of the oracle", xlabel="step", ylabel="summed loss of a batch")
    for panel in free:
        panel.axis("off")
    figure.suptitle(f"Free-running training in {dtype}: the grey band is how far {TWINS_OF[dtype]} stray from the oracle")
    path = folder / f"free-running-{dtype}.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path
