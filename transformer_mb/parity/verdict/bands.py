"""The limits of free-running training: ten times as far as the reference strays from itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...columns.messages import Arrays
from ...random_streams import stream
from ..computing import reference
from ..computing.messages import EPS, Request, rounded_arrays
from .limits import FLOOR_EPS, Verdict

TIMES = 10.0
PERTURBED_RUNS = 5
# In float32 training forks: which of several units wakes up first is decided by rounding, and the loss then differs by 1e-4
# within a step or two. Of 24 runs of NumPy from starts off in the last place, six to nine took one of the branches, so that
# five would miss it in one case of ten.
FLOAT32_RUNS = 16
ENOUGH = 0.5  # of the limit: a curve that takes no more of it needs no further runs, which could only widen the band


@dataclass(frozen=True)
class Curve:
    """Two figures by step: a run's relative difference of the loss, and the band that it is held to."""

    divergence: np.ndarray
    band: np.ndarray

    def judge(self) -> Verdict:
        """Judge the step that takes most of its limit."""
        limits = TIMES * self.band
        if not np.isfinite([self.divergence, limits]).all():
            step = int(np.flatnonzero(~np.isfinite(self.divergence + limits))[0])
            return Verdict(False, math.nan, float(limits[step]), f"not finite at step {step}")
        step = int((self.divergence / limits).argmax())
        off, limit = float(self.divergence[step]), float(limits[step])
        text = f"{off:.1e} at step {step}, {off / self.band[step]:.2g}x the band; limit {TIMES:g}x"
        return Verdict(off <= limit, off, limit, text)


def divergence(losses: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(losses / expected - 1.0)


def band(dtype: str, *runs: np.ndarray) -> np.ndarray:
    """The worst divergence of the baseline runs up to each step; rounding of a loss is always allowed."""
    furthest = np.maximum.accumulate(np.max(runs, axis=0))
    return np.maximum(furthest, FLOOR_EPS * EPS[dtype])


def perturbed(weights: Mapping[str, np.ndarray], dtype: str, number: int) -> dict[str, np.ndarray]:
    """Weights off by one unit in the last place, each up or down at random."""
    signs = stream("band", number)
    return {name: value * (1.0 + EPS[dtype] * signs.choice([-1.0, 1.0], value.shape)) for name, value in weights.items()}


class Band:
    """The band around the reference's run from one state.

    float64: perturbed runs of the reference. float32: NumPy in float32, from that state and from others. What is perturbed
    are the weights at the start, in the last place: no backend's own error may widen the band that it is held to. Runs are
    computed as curves need them: those of ten steps mostly stay within what rounding of a loss is always allowed.

    Args:
        expected: makes the reference's run; None computes it.
    """

    def __init__(
        self,
        dtype: str,
        start: Arrays,
        request: Callable[[Arrays], Request],
        expected: Callable[[], Arrays] | None = None,
    ):
        self.dtype, self.start, self.request = dtype, start, request
        self.make_expected = expected or (lambda: reference.answer(request(start)))
        self.lock = threading.Lock()  # of two backends that ask at the same time, one computes
        self.divergences: list[np.ndarray] = []  # of the runs so far

    @cached_property
    def expected(self) -> Arrays:
        return self.make_expected()

    @cached_property
    def baseline(self) -> Arrays:
        """The NumPy float32 run."""
        return reference.baseline(self.request(self.start))

    def around(self, divergence: np.ndarray) -> Curve:
        """A run's curve in the band of the fewest runs in which it takes no more than ``ENOUGH`` of its limit, or of all.

        Every run widens the band: whatever passes so passes with all of them. The figure hangs on no other backend's curve.
        """
        runs: list[np.ndarray] = [np.zeros_like(divergence)]
        curve = Curve(divergence, band(self.dtype, *runs))
        if np.isfinite(divergence).all():
            for number in range(PERTURBED_RUNS if self.dtype == "float64" else FLOAT32_RUNS):
                if curve.judge().share <= ENOUGH:
                    break
                runs.append(self._divergence(number))
                curve = Curve(divergence, band(self.dtype, *runs))
        return curve

    def _divergence(self, number: int) -> np.ndarray:
        with self.lock:
            while len(self.divergences) <= number:
                losses = self._run(len(self.divergences))["losses"]
                self.divergences.append(divergence(losses, self.expected["losses"]))
            return self.divergences[number]

    def _run(self, number: int) -> Arrays:
        """Run from a perturbed start; in float32 the first is the baseline, whose start is not perturbed."""
        if self.dtype == "float32":
            if number == 0:
                return self.baseline
            number -= 1
        run = reference.answer if self.dtype == "float64" else reference.baseline
        return run(self.request(self.perturbed_start(number)))

    def perturbed_start(self, number: int) -> dict[str, np.ndarray]:
        """Return the start with its weights off in the last place."""
        weights = {name: value for name, value in self.start.items() if name.startswith("weights.")}
        return rounded_arrays({**self.start, **perturbed(weights, self.dtype, number)}, self.dtype)
