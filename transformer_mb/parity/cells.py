"""The cells of the matrix, before and after they have run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..built_in import BUILT_IN
from .computing.messages import Request

PASSED, FAILED, EXPECTED, SURPRISING = "passed", "failed", "expected failure", "passes though expected to fail"
Ask = Callable[[Request], Mapping[str, np.ndarray]]


class Cell(NamedTuple):
    """A case of a row in one dtype, which every backend that has the dtype is asked."""

    row: str
    case: str
    dtype: str

    @property
    def id(self) -> str:
        return f"{self.row}: {self.case} [{self.dtype}]"


@dataclass(frozen=True)
class Result:
    """The result of a cell in one backend. ``error`` and ``limit`` are None where nothing could be measured.

    ``limit_by_norm`` is that of the error by norm, where ``limit`` may be of another figure that took more of its own.
    """

    row: str
    case: str
    dtype: str
    backend: str
    status: str
    reason: str
    error: float | None = None
    limit: float | None = None
    seconds: float = 0.0
    near_ties: int = 0  # rows of tokens that differ where the reference's own choice is one
    limit_by_norm: float | None = None
    worst: str = ""  # the number that is furthest off, of outputs, losses and gradients
    quantiles: dict[str, list[float]] | None = None  # of the errors of their numbers: see verdict/spread.py

    @property
    def cell(self) -> Cell:
        return Cell(self.row, self.case, self.dtype)

    @property
    def has_failed(self) -> bool:
        return self.status in (FAILED, SURPRISING)

    @property
    def share(self) -> float | None:
        """The error divided by its limit; None where one of them is not there or is not finite."""
        if self.error is None or not self.limit or not np.isfinite([self.error, self.limit]).all():
            return None
        return self.error / self.limit


@dataclass(frozen=True)
class ControlResult:
    """The fate of a negative control in one backend: caught or not; ``reason`` is what the verdict said of it."""

    control: str
    row: str
    case: str
    dtype: str
    backend: str
    caught: bool
    reason: str


def is_offered(option: str, backend: str, on_gpu: Collection[str]) -> bool:
    """Tell whether a column has an option of ``Entry``: one of every device, or one of the device that it is on."""
    entry = BUILT_IN.get(backend.partition("@")[0])
    return entry is not None and option in (*entry.fast, *(entry.on_gpu if backend in on_gpu else entry.on_cpu))


class Experiment(Protocol):
    """A program that is run on every backend and judged for one or more cells.

    ``run`` may ask several things of the backend, one after the other. ``after`` says that it needs what another experiment,
    its ``start``, has got from the other backends.
    """

    dtype: str
    after: bool

    def cells(self, backend: str) -> list[Cell]: ...
    def run(self, backend: str, ask: Ask) -> Iterable[Result]: ...
