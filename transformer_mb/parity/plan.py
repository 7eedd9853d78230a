"""The experiments of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..built_in import BUILT_IN, EVERY_DTYPE
from .cells import Cell, Experiment
from .controls.requests import Control, make_controls, short_runs
from .ladder import LADDER
from .rows.accumulated_training import accumulated_experiments
from .rows.attention_kernels import kernel_experiments
from .rows.caches import cached_experiments
from .rows.drawn_thresholds import is_tiny, with_drawn_thresholds
from .rows.drawn_tokens import drawing_experiments
from .rows.drawn_training import training_experiments
from .rows.equal_parts import equal_parts_experiments
from .rows.fast_steps import fast_experiments
from .rows.hand_over import HandOverRun, HandOverStart
from .rows.layers import layer_experiments
from .rows.lives import life_experiments
from .rows.models import model_experiments
from .rows.optimizers import optimizer_experiments
from .rows.own_dropout import dropout_experiments
from .rows.real_size import real_size_experiments
from .rows.repeats import Repeat
from .rows.tokens import token_experiments
from .rows.training import FreeRunning, later_runs, stepwise_experiments
from .rows.training_job import Recording, make_job
from .selection import WHOLE, Selection, check_patterns, matches


class Plan:
    """All experiments of a selection, in the order in which they run, and what they share.

    Args:
        backends: labels of columns. on_gpu: those of them for which a GPU was asked for.
    """

    def __init__(self, selection: Selection, backends: list[str], on_gpu: Collection[str] = ()):
        self.selection, self.backends, self.on_gpu = selection, backends, frozenset(on_gpu)
        self.job = make_job(selection.data, selection.seed)
        self.recording = Recording(self.job)
        self.free: dict[str, FreeRunning] = {}
        drawn = [experiment for dtype in selection.dtypes for experiment in self._experiments(dtype, backends)]
        every = with_drawn_thresholds(drawn, selection.seed)
        # float64 last: JAX computes the others differently too once its switch for it is on, which is the whole process's.
        # And what is tiny last in its dtype, since JAX forgets its programs around it.
        order = {experiment: (experiment.dtype == "float64", is_tiny(experiment)) for experiment in every}
        self.experiments = sorted(self._taken(every, backends), key=order.__getitem__)
        self.controls: dict[Experiment, list[Control]] = {}
        self.spoiled: list[Experiment] = []  # whose answers have NaN and infinity planted into them
        if selection.controls:
            free_running = LADDER[FreeRunning.row].dtypes
            planted = [*short_runs(self.recording, [dtype for dtype in selection.dtypes if dtype in free_running]), *every]
            for experiment, control in make_controls(planted, self.recording, selection.dtypes):
                self.controls.setdefault(experiment, []).append(control)
            self.spoiled = self._first_of_each_row(planted)
            for experiment in self.spoiled:
                self.controls.setdefault(experiment, [])
        self._keep_part()

    def _keep_part(self) -> None:
        """Keep a part of what is run, for its cells or for its controls alone; a hand-over stays with what it starts from."""
        number, count = self.selection.part
        kept = {id(one) for one in list(dict.fromkeys([*self.experiments, *self.controls]))[number - 1 :: count]}

        def has(experiment: Experiment) -> bool:
            return id(experiment.start if isinstance(experiment, HandOverRun) else experiment) in kept

        self.experiments = list(filter(has, self.experiments))
        self.controls = {one: planted for one, planted in self.controls.items() if has(one)}
        self.spoiled = list(filter(has, self.spoiled))

    def _experiments(self, dtype: str, backends: list[str]) -> list[Experiment]:
        seed = self.selection.seed
        experiments: list[Experiment] = [
            *layer_experiments(dtype, seed),
            *model_experiments(dtype, seed),
            *cached_experiments(dtype, seed),
            *optimizer_experiments(dtype, seed),
            *training_experiments(dtype, seed),
            *accumulated_experiments(dtype, seed),
            *equal_parts_experiments(dtype, seed),
            *token_experiments(dtype, seed),
            *drawing_experiments(dtype, seed),
            *fast_experiments(dtype, seed, self.on_gpu),
            *kernel_experiments(dtype, seed, self.on_gpu),
            Repeat(dtype, seed, self.on_gpu),
            *dropout_experiments(dtype, seed),
            *life_experiments(dtype, seed, self.on_gpu),
            *real_size_experiments(dtype, seed),
            *stepwise_experiments(self.recording, dtype),
        ]
        if dtype in LADDER[FreeRunning.row].dtypes:
            self.free[dtype] = FreeRunning(self.recording, dtype)
            start = HandOverStart(self.recording, dtype)
            experiments += [self.free[dtype], *later_runs(self.recording, dtype), start, HandOverRun(start, backends)]
        return experiments

    def _taken(self, experiments: list[Experiment], backends: list[str]) -> list[Experiment]:
        """Take the experiments with a cell that was asked for, and what a hand-over starts from."""
        taken = [e for e in experiments if any(self.selection.takes(cell) for b in backends for cell in e.cells(b))]
        handed_over = {e.dtype for e in taken if isinstance(e, HandOverRun)}
        needed = [e for e in experiments if isinstance(e, HandOverStart) and e.dtype in handed_over]
        return [e for e in experiments if e in taken or e in needed]

    def _first_of_each_row(self, experiments: list[Experiment]) -> list[Experiment]:
        """And of each dtype. A hand-over needs the others' results, and so has to be selected."""
        first: dict[tuple[str, str], Experiment] = {}
        for experiment in experiments:
            if not experiment.after or experiment in self.experiments:
                for cell in experiment.cells(""):
                    first.setdefault((cell.row, cell.dtype), experiment)
        return list(dict.fromkeys(first.values()))

    def cells(self, backend: str, dtypes: Sequence[str]) -> list[Cell]:
        """Return what is to be executed for a backend that has these dtypes."""
        cells = [cell for e in self.experiments for cell in e.cells(backend)]
        return [cell for cell in cells if cell.dtype in dtypes and self.selection.takes(cell)]

    def check(self) -> None:
        """Raises ParityError when a pattern of the selection takes no cell."""
        if self.selection.part != WHOLE:
            Plan(replace(self.selection, part=WHOLE, controls=False), self.backends, self.on_gpu).check()
        elif self.selection.cases is not None and not all(map(self._takes_one, self.selection.patterns)):
            whole = replace(self.selection, cases=None, controls=False)
            ids = Plan(whole, self.backends, self.on_gpu).ids(self.selection.dtypes)
            every = Plan(replace(whole, dtypes=EVERY_DTYPE), [*self.backends, *BUILT_IN], BUILT_IN)
            check_patterns(self.selection.patterns, ids, every.ids(EVERY_DTYPE))

    def _takes_one(self, pattern: str) -> bool:
        return any(matches(pattern, name) for name in self.ids(self.selection.dtypes))

    def ids(self, dtypes: Sequence[str]) -> list[str]:
        """Return the ids of all cells that some backend with these dtypes is to execute, in the order in which they run."""
        return list(dict.fromkeys(cell.id for backend in self.backends for cell in self.cells(backend, dtypes)))

    @property
    def draws(self) -> list[str]:
        """The dtypes in which backends train by themselves, so that there are curves to draw."""
        return [dtype for dtype, free in self.free.items() if free in self.experiments]
