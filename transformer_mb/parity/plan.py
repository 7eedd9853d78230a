"""The experiments of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..built_in import BUILT_IN, EVERY_DTYPE, PLAIN_DTYPES
from ..random_streams import stream
from .cells import Cell, Experiment
from .computing.thresholds import TINY
from .ladder import LADDER
from .selection import WHOLE, Selection, check_patterns, matches

if TYPE_CHECKING:
    from .controls.requests import Control
    from .rows.training import Recording

# A life draws its own sizes; layers are met in models.
DRAWN = ("drawn model ", "drawn optimizer ", "drawn recipe", "drawn cache", "drawn search")


FREE = "free-running"
# What makes experiments, in the order in which they run: module and function in rows/, imported where a row of theirs may be
# selected; the computations of these rows; the attributes of a plan that it takes beside the dtype; how its cases begin.
MAKERS = (
    ("layers", "layer_experiments", ("layer",), ("seed",)),
    ("layers", "drawn_experiments", ("layer",), ("seed",), "drawn "),
    ("layers", "forward_experiments", ("forwards",), ("seed",)),
    ("models", "model_experiments", ("model",), ("seed",)),
    ("caches", "cached_experiments", ("cached",), ("seed",)),
    ("trained_steps", "optimizer_experiments", ("update",), ("seed",)),
    ("trained_steps", "training_experiments", ("train",), ("seed",)),
    ("trained_steps", "accumulated_experiments", ("train",), ("seed",)),
    ("one_answer", "EqualParts.made", ("parts",), ("seed",)),
    ("tokens", "token_experiments", ("decode",), ("seed",)),
    ("drawn_tokens", "DrawnTokens.made", ("draw",), ("seed",)),
    ("given_numbers", "GivenNumbers.made", ("draw_given",), ("seed",)),
    ("hypotheses", "Hypotheses.made", ("listed",), ("seed",)),
    ("refused_inputs", "RefusedInputs.made", ("refused",), ("seed",)),
    ("fast_steps", "fast_experiments", ("whole_step", "eight_bits"), ("seed", "on_gpu")),
    ("fast_steps", "kernel_experiments", ("model",), ("seed", "on_gpu")),
    ("one_answer", "Repeat.made", ("repeated",), ("seed", "on_gpu")),
    ("one_answer", "OwnDropout.made", ("masks",), ("seed",)),
    ("first_weights", "first_experiments", ("made",), ("seed",)),
    ("lives", "life_experiments", ("life",), ("seed", "on_gpu")),
    ("real_size", "real_size_experiments", ("model", "train", "decode"), ("seed",)),
    ("training", "stepwise_experiments", ("step",), ("recording",)),
    ("training", "free_experiments", ("run",), ("recording",)),
    ("hand_over", "hand_over_experiments", ("step", "run"), ("recording", "backends")),
)

# Of each two cases of these one is run in bfloat16, the other in float16; and of searches one in float64, the other in float32.
# Compilers take long for whole models and searches.
FEW_BITS = tuple(dtype for dtype in EVERY_DTYPE if dtype not in PLAIN_DTYPES)
BY_TURNS = {
    **dict.fromkeys(("model_experiments", "cached_experiments", "optimizer_experiments", "training_experiments"), FEW_BITS),
    "token_experiments": EVERY_DTYPE,
}


class Plan:
    """All experiments of a selection, in the order in which they run, and what they share.

    Args:
        backends: labels of columns. on_gpu: those of them for which a GPU was asked for.
    """

    def __init__(self, selection: Selection, backends: list[str], on_gpu: Collection[str] = ()):
        self.selection, self.backends, self.on_gpu = selection, backends, frozenset(on_gpu)
        self.seed = selection.seed
        if selection.data is not None:  # refused before anything runs
            _ = self.recording
        every = with_drawn_thresholds([one for dtype in selection.dtypes for one in self._made(dtype)], selection.seed)
        # float64 last: JAX computes the others differently too once its switch for it is on, which is the whole process's.
        # And what is tiny last in its dtype, since JAX forgets its programs around it.
        order = {experiment: (experiment.dtype == "float64", is_tiny(experiment)) for experiment in every}
        self.experiments = sorted(self._taken(every), key=order.__getitem__)
        self.controls: dict[Experiment, list[Control]] = {}
        self.spoiled: list[Experiment] = []  # whose answers have NaN and infinity planted into them
        if selection.controls:
            self._plant(every)
        if selection.part != WHOLE:
            self._keep_part()

    def _keep_part(self) -> None:
        """Keep a part of what is run, for its cells or for its controls alone; a hand-over stays with what it starts from."""
        number, count = self.selection.part
        kept = {id(one) for one in list(dict.fromkeys([*self.experiments, *self.controls]))[number - 1 :: count]}

        def has(experiment: Experiment) -> bool:
            return id(experiment.start if experiment.after else experiment) in kept  # type: ignore[attr-defined]

        self.experiments = list(filter(has, self.experiments))
        self.controls = {one: planted for one, planted in self.controls.items() if has(one)}
        self.spoiled = list(filter(has, self.spoiled))

    @cached_property
    def recording(self) -> Recording:
        """The reference's run of the training job."""
        from .rows.training import Recording, make_job

        return Recording(make_job(self.selection.data, self.seed))

    def _made(self, dtype: str) -> list[Experiment]:
        """Make the experiments of the rows that may be selected; of all where mistakes are planted into them."""
        experiments: list[Experiment] = []
        for module, function, computations, takes, *start in MAKERS:
            cells = [f"{row.name}: {''.join(start)}" for row in LADDER.values() if row.computation in computations]
            if self.selection.controls or any(map(self.selection.may_take, cells)):
                make: Any = attrgetter(function)(import_module(f"{__package__}.rows.{module}"))
                made = make(dtype=dtype, **{name: getattr(self, name) for name in takes})
                experiments += by_turns(made, dtype, self.seed) if dtype in BY_TURNS.get(function, ()) else made
        return experiments

    def _plant(self, every: list[Experiment]) -> None:
        from .controls.requests import make_controls, short_runs

        dtypes = self.selection.dtypes
        planted = [*short_runs(self.recording, [dtype for dtype in dtypes if dtype in LADDER[FREE].dtypes]), *every]
        for experiment, control in make_controls(planted, self.recording, dtypes):
            self.controls.setdefault(experiment, []).append(control)
        self.spoiled = self._first_of_each_row(planted)
        for experiment in self.spoiled:
            self.controls.setdefault(experiment, [])

    def _taken(self, experiments: list[Experiment]) -> list[Experiment]:
        """Take the experiments with a cell that was asked for, and what a hand-over starts from."""
        taken = [e for e in experiments if any(self.selection.takes(cell) for b in self.backends for cell in e.cells(b))]
        taken += [e.start for e in taken if e.after]  # type: ignore[attr-defined]
        return [e for e in experiments if e in taken]

    def _first_of_each_row(self, experiments: list[Experiment]) -> list[Experiment]:
        """Return the first experiment of each row and dtype. A hand-over, which needs other results, is to be selected."""
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
        """Refuse, with ParityError, a selection of which a pattern takes no cell."""
        if self.selection.part != WHOLE:
            Plan(replace(self.selection, part=WHOLE, controls=False), self.backends, self.on_gpu).check()
            return
        selected = self.ids(self.selection.dtypes)
        if self.selection.cases is not None and not all(
            any(matches(pattern, name) for name in selected) for pattern in self.selection.patterns
        ):
            whole = replace(self.selection, cases=None, controls=False)
            ids = Plan(whole, self.backends, self.on_gpu).ids(self.selection.dtypes)
            every = Plan(replace(whole, dtypes=EVERY_DTYPE), [*self.backends, *BUILT_IN], BUILT_IN)
            check_patterns(self.selection.patterns, ids, every.ids(EVERY_DTYPE))

    def ids(self, dtypes: Sequence[str]) -> list[str]:
        """Return the ids of all cells that some backend with these dtypes is to execute, in the order in which they run."""
        return list(dict.fromkeys(cell.id for backend in self.backends for cell in self.cells(backend, dtypes)))

    @property
    def free(self) -> dict[str, Any]:
        """The trainings by themselves from the first step on, by dtype: there are curves to draw."""
        runs = (one for one in self.experiments if getattr(one, "row", None) == FREE)
        return {one.dtype: one for one in runs if not one.first}  # type: ignore[attr-defined]

    def free_running(self) -> dict[str, dict[str, dict[str, list[float]]]]:
        """Return the curves of ``free`` by dtype and column: the divergence and its band, a number per step."""
        return {
            dtype: {
                label: {name: [float(f"{value:.3g}") for value in getattr(curve, name)] for name in ("divergence", "band")}
                for label, curve in one.curves.items()
            }
            for dtype, one in self.free.items()
        }


def by_turns(experiments: list[Experiment], dtype: str, seed: int) -> list[Experiment]:
    """Take every other one; with the next seed those between."""
    return experiments[(seed + (dtype in ("float32", "float16"))) % 2 :: 2]


def with_drawn_thresholds(experiments: Iterable[Experiment], seed: int) -> list[Experiment]:
    return [one.tiny() if _is_chosen(one, seed) else one for one in experiments]  # type: ignore[attr-defined]


def is_tiny(experiment: Experiment) -> bool:
    cell = next(iter(experiment.cells("")), None)
    return cell is not None and cell.case.endswith(TINY)


def _is_chosen(experiment: Experiment, seed: int) -> bool:
    cell = next(iter(experiment.cells("")), None)
    if cell is None or cell.dtype not in PLAIN_DTYPES or not cell.case.startswith(DRAWN):
        return False
    return bool(stream(seed, "parity", "thresholds", cell.case).integers(2))
