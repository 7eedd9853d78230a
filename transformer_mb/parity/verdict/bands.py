"""How far free-running training may stray: ten times as far as the reference strays from itself."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...random_streams import stream
from ..computing import reference
from ..computing.messages import Arrays, Request
from ..computing.precision import EPS, rounded_arrays
from .limits import FLOOR_EPS, Judgement

TIMES = 10.0
PERTURBED_RUNS = 5
# In float32 training forks: which of several units wakes up first is decided by rounding, and the loss then differs by 1e-4
# within a step or two. Of 24 runs of NumPy from starts off in the last place, six to nine took one of the branches, so that
# five would miss it in one case of ten.
FLOAT32_RUNS = 16


@dataclass(frozen=True)
class Curve:
    """By step: a run's relative difference of the loss, and the band that it is held to."""

    divergence: np.ndarray
    band: np.ndarray

    def judge(self) -> Judgement:
        """Of the step that takes most of its limit."""
        limits = TIMES * self.band
        if not np.isfinite([self.divergence, limits]).all():
            step = int(np.flatnonzero(~np.isfinite(self.divergence + limits))[0])
            return Judgement(False, math.nan, float(limits[step]), f"not finite at step {step}")
        step = int((self.divergence / limits).argmax())
        off, limit = float(self.divergence[step]), float(limits[step])
        text = f"{off:.1e} at step {step}, {off / self.band[step]:.2g}x the band; limit {TIMES:g}x"
        return Judgement(off <= limit, off, limit, text)


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
    """The band around the reference's run from one state, by step: ``width``.

    float64: perturbed runs of the reference. float32: NumPy in float32, from that state and from others. What is perturbed
    are the weights at the start, in the last place: no backend's own error may widen the band that it is held to.
    """

    def __init__(self, dtype: str, start: Arrays, request: Callable[[Arrays], Request]):
        self.dtype, self.start, self.request = dtype, start, request
        self.lock = threading.Lock()  # of two backends that ask at the same time, one computes
        self.computed: np.ndarray | None = None

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request(self.start))

    @cached_property
    def baseline(self) -> Arrays:
        """The NumPy float32 run."""
        return reference.baseline(self.request(self.start))

    @property
    def width(self) -> np.ndarray:
        with self.lock:
            if self.computed is None:
                self.computed = band(self.dtype, *self._divergences())
            return self.computed

    def _divergences(self) -> list[np.ndarray]:
        double = self.dtype == "float64"
        run = reference.answer if double else reference.baseline
        answers = [] if double else [self.baseline]
        weights = {name: value for name, value in self.start.items() if name.startswith("weights.")}
        for number in range(PERTURBED_RUNS if double else FLOAT32_RUNS - 1):
            start = {**self.start, **perturbed(weights, self.dtype, number)}
            answers.append(run(self.request(rounded_arrays(start, self.dtype))))
        return [divergence(answer["losses"], self.expected["losses"]) for answer in answers]
