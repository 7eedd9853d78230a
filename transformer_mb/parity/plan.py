"""Which experiments a run consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..registry import EVERY_DTYPE as DTYPES
from ..registry import PLAIN_DTYPES as TRAINED_IN
from .cells import Cell, Experiment
from .computing.reference import Oracle
from .controls.requests import Control, make_controls
from .rows.hand_over import Arrival, Departure
from .rows.layers import layer_experiments
from .rows.models import model_experiments, optimizer_experiments
from .rows.tokens import token_experiments
from .rows.training import FreeRunning, stepwise_experiments
from .rows.training_job import Recording, make_job


@dataclass(frozen=True)
class Selection:
    """What was asked for.

    Args:
        cases: a pattern of cells' ids (``row: case [dtype]``), such as ``*cross-attention*``; several with | between.
        controls: plant the negative controls too.
        data: the pairs of the training job; None is the built-in corpus.
    """

    dtypes: Sequence[str] = DTYPES
    cases: str | None = None
    seed: int = 0
    controls: bool = False
    data: Path | None = None

    def takes(self, cell: Cell) -> bool:
        # Brackets stand for themselves, so that an id can be pasted.
        patterns = ("*",) if self.cases is None else self.cases.replace("[", "[[]").split("|")
        return cell.dtype in self.dtypes and any(fnmatchcase(cell.id, pattern.strip()) for pattern in patterns)


class Plan:
    """All experiments of a selection, in the order in which they run, and what they share."""

    def __init__(self, selection: Selection, backends: list[str]):
        self.selection = selection
        self.oracle = Oracle()
        self.job = make_job(selection.data, selection.seed)
        self.recording = Recording(self.job, self.oracle)
        self.free: dict[str, FreeRunning] = {}
        found: list[Experiment] = []
        for dtype in selection.dtypes:
            found += self._experiments(dtype, backends)
        self.experiments = self._taken(found, backends)
        self.planted: dict[Experiment, list[Control]] = {}
        self.spoiled: list[Experiment] = []  # whose answers have NaN and infinity planted into them
        if selection.controls:
            dtypes = [dtype for dtype in TRAINED_IN if dtype in selection.dtypes]
            for control in make_controls(found, self.recording, self.oracle, dtypes):
                self.planted.setdefault(control.experiment, []).append(control)
            for experiment in self._spoiled(found, dtypes):
                self.planted.setdefault(experiment, [])
                self.spoiled.append(experiment)

    def _experiments(self, dtype: str, backends: list[str]) -> list[Experiment]:
        oracle, seed = self.oracle, self.selection.seed
        found: list[Experiment] = [
            *layer_experiments(oracle, dtype, seed),
            *model_experiments(oracle, dtype, seed),
            *optimizer_experiments(oracle, dtype, seed),
            *token_experiments(oracle, dtype, seed),
        ]
        if dtype in TRAINED_IN:
            found += stepwise_experiments(self.recording, oracle, dtype)
            self.free[dtype] = FreeRunning(self.recording, oracle, dtype)
            departure = Departure(self.recording, dtype)
            found += [self.free[dtype], departure, Arrival(departure, self.free[dtype], backends, oracle)]
        return found

    def _taken(self, experiments: list[Experiment], backends: list[str]) -> list[Experiment]:
        """Those with a cell that was asked for, and what an arrival needs before it."""
        taken = [e for e in experiments if any(self.selection.takes(cell) for b in backends for cell in e.cells(b))]
        arriving = {e.dtype for e in taken if isinstance(e, Arrival)}
        needed = [e for e in experiments if isinstance(e, Departure | FreeRunning) and e.dtype in arriving]
        return [e for e in experiments if e in taken or e in needed]

    def _spoiled(self, found: list[Experiment], dtypes: Sequence[str]) -> list[Experiment]:
        """The first experiment of each row and dtype; handing over needs the others' results, and so has to be selected."""
        first: dict[tuple[str, str], Experiment] = {}
        for experiment in found:
            if experiment.dtype in dtypes and (not experiment.after or experiment in self.experiments):
                for cell in experiment.cells(""):
                    first.setdefault((cell.row, cell.dtype), experiment)
        return list(dict.fromkeys(first.values()))

    def cells(self, backend: str, dtypes: Sequence[str]) -> list[Cell]:
        """What is to be executed for a backend that has these dtypes."""
        cells = [cell for e in self.experiments for cell in e.cells(backend)]
        return [cell for cell in cells if cell.dtype in dtypes and self.selection.takes(cell)]
