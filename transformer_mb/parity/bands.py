"""How far free-running training may stray: ten times as far as the reference strays from itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..random_streams import stream
from .cells import FAILED, PASSED
from .verdict import EPS, FLOOR_EPS

TIMES = 10.0
TWINS = 5


@dataclass(frozen=True)
class Curve:
    """By step: a run's relative difference of the loss, and the band that it is held to."""

    divergence: np.ndarray
    band: np.ndarray

    def judge(self) -> tuple[str, float, float, str]:
        """Status, the worst step's divergence and limit, and the words for it."""
        limits = TIMES * self.band
        if not np.isfinite(self.divergence).all():
            step = int(np.flatnonzero(~np.isfinite(self.divergence))[0])
            return FAILED, math.nan, float(limits[step]), f"not finite at step {step}"
        step = int((self.divergence / limits).argmax())
        worst, limit = float(self.divergence[step]), float(limits[step])
        text = f"{worst:.1e} at step {step}, {worst / self.band[step]:.2g}x the band; limit {TIMES:g}x"
        return (PASSED if worst <= limit else FAILED), worst, limit, text


def divergence(losses: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return np.abs(losses / reference - 1.0)


def band(dtype: str, *runs: np.ndarray) -> np.ndarray:
    """The worst divergence of the yardstick runs up to each step; rounding of a loss is always allowed."""
    worst = np.maximum.accumulate(np.max(runs, axis=0))
    return np.maximum(worst, FLOOR_EPS * EPS[dtype])


def perturbed(weights: Mapping[str, np.ndarray], size: float, number: int) -> dict[str, np.ndarray]:
    """Weights off by a relative ``size``, each up or down at random."""
    signs = stream("band", number)
    return {name: value * (1.0 + size * signs.choice([-1.0, 1.0], value.shape)) for name, value in weights.items()}


class Bands:
    """Divergences of the oracle's twins, by where they start and how much they are off; each is run once."""

    def __init__(self, losses_from: Callable[[Mapping[str, np.ndarray]], np.ndarray], start: Mapping[str, np.ndarray]):
        self.losses_from = losses_from
        self.start = start
        self.reference = losses_from(start)
        self.found: dict[int, np.ndarray] = {}
        self.lock = threading.Lock()  # of two backends that ask at the same time, one computes

    def twins(self, one_step_error: float) -> np.ndarray:
        """The worst of five at each step. The error counts as at least one unit in the last place of float64, and is
        rounded down to a power of two, so that backends share their twins."""
        finite = one_step_error if math.isfinite(one_step_error) else 0.0
        exponent = math.floor(math.log2(max(finite, EPS["float64"])))
        with self.lock:
            return self._twins(exponent)

    def _twins(self, exponent: int) -> np.ndarray:
        if exponent not in self.found:
            weights = {name: value for name, value in self.start.items() if name.startswith("weights.")}
            runs = [
                divergence(self.losses_from({**self.start, **perturbed(weights, 2.0**exponent, number)}), self.reference)
                for number in range(TWINS)
            ]
            self.found[exponent] = np.max(runs, axis=0)
        return self.found[exponent]
