"""The rows of training: the job, single steps from the states of its recording, and runs inside of the band around it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ...batch import Batch
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...initialization import initial_weights
from ...presets import RECIPES, d2l
from ...training import TrainingRecipe
from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Request, named, rounded_arrays, under
from ..ladder import LADDER, rows_of
from ..verdict.answers import check_answer
from ..verdict.bands import Band, Curve, divergence
from ..verdict.comparison import Comparison
from ..verdict.limits import Baseline, Errors, Verdict, errors, judge, judge_by_draws, worst_errors

PAIRS = 600
STEPS = 200  # recorded by the reference
FREE_STEPS = 120  # run by a backend alone: training is chaos from about there
SAMPLED_EVERY = 10
SAMPLED = tuple(range(0, STEPS, SAMPLED_EVERY))  # where backends are put into the reference's state
HANDED_OVER_AT, CONTINUED = 20, 10


@dataclass(frozen=True)
class Job:
    """The model, its recipe, its first weights (the same in float32 and float64) and one batch for each step.

    Weights, the order of the pairs and what dropout drops follow the seed.

    The pairs come in the recipe's order, epoch after epoch, cut into batches of one size: a smaller last batch of an
    epoch would have every framework compile twice.
    """

    name: str
    seed: int
    config: TransformerConfig
    options: dict[str, Any]
    weights: dict[str, np.ndarray]
    batches: dict[str, np.ndarray]

    def run(self, dtype: str, first: int, steps: int, state: Arrays, states_at: Sequence[int] = ()) -> Request:
        """``steps`` steps from a state: ``weights.NAME``, and ``slots.NAME`` but before the first step."""
        spec = {**self._spec(first), "steps": steps, "states_at": list(states_at)}
        batches = {name: value[first : first + steps] for name, value in self.batches.items()}
        return Request("run", dtype, spec, {**state, **named("batches", batches)})

    def step(self, dtype: str, number: int, state: Arrays) -> Request:
        """Return a step, to be judged by itself."""
        batch = {name: value[number] for name, value in self.batches.items()}
        return Request("step", dtype, self._spec(number), {**state, **named("batch", batch)})

    def _spec(self, step_count: int) -> dict[str, Any]:
        return {"config": self.config.to_dict(), "options": self.options, "seed": self.seed, "step_count": step_count}

    @property
    def start(self) -> dict[str, np.ndarray]:
        return named("weights", self.weights)


def make_job(data: Path | None, seed: int) -> Job:
    """The book's job on a file of pairs; without one, on the built-in corpus."""
    if data is None:
        return _built_in_job(seed)
    from ...data import read_pairs

    return _job(data.name, read_pairs(data, num_examples=PAIRS), seed)


@lru_cache(maxsize=1)
def _built_in_job(seed: int) -> Job:
    from ...data import demo_pairs

    return _job("built-in corpus", demo_pairs()[0][:PAIRS], seed)


def _job(name: str, pairs: Sequence[tuple[str, str]], seed: int) -> Job:
    from ...data import Batches, build_vocabularies, pair_ids

    recipe = TrainingRecipe(**RECIPES["d2l"])
    vocabularies = build_vocabularies(pairs, "d2l", min_freq=recipe.min_freq)
    config = d2l(*map(len, vocabularies))
    weights = {name: value.astype(np.float32).astype(np.float64) for name, value in initial_weights(config, seed).items()}
    batches = Batches(pair_ids(pairs, *vocabularies), recipe.batch_size, seed, num_steps=recipe.num_steps)
    return Job(name, seed, config, recipe.trainer_options(), weights, _stacked(batches, RECIPES["d2l"]["batch_size"]))


def _stacked(batches: Any, size: int) -> dict[str, np.ndarray]:
    epochs = range(-(-STEPS * size // batches.num_pairs))
    rows = [batch for epoch in epochs for batch in batches.epoch(epoch)]
    arrays = {}
    for i, name in enumerate(Batch._fields):
        whole = np.concatenate([batch[i] for batch in rows])[: STEPS * size]
        arrays[name] = whole.reshape(STEPS, size, *whole.shape[1:])
    return arrays


class Recording:
    """The reference's own run: its losses, and its state before each sampled step; computed as far as it is asked for."""

    def __init__(self, job: Job):
        self.job = job
        self.parts: list[Arrays] = []  # of SAMPLED_EVERY steps each
        self.lock = threading.Lock()  # of two backends that ask at the same time, one computes

    def _part(self, number: int) -> Arrays:
        with self.lock:
            while len(self.parts) <= number:
                first = SAMPLED_EVERY * len(self.parts)
                state = under(f"state {first}", self.parts[-1]) if self.parts else self.job.start
                request = self.job.run("float64", first, SAMPLED_EVERY, state, [first + 1, first + SAMPLED_EVERY])
                self.parts.append(reference.answer(request))
            return self.parts[number]

    @property
    def losses(self) -> np.ndarray:
        return np.concatenate([self._part(number)["losses"] for number in range(STEPS // SAMPLED_EVERY)])

    @property
    def recorded(self) -> np.ndarray:
        """Return as many losses as have been asked for; nothing is computed for it."""
        return np.concatenate([np.empty(0), *(part["losses"] for part in list(self.parts))])

    def run(self, first: int, steps: int) -> Arrays:
        """Answer as a job's run from the first step of a part does, with the state after its first step."""
        number = first // SAMPLED_EVERY
        losses = [self._part(each)["losses"] for each in range(number, -(-(first + steps) // SAMPLED_EVERY))]
        after = f"state {first + 1}"
        return {"losses": np.concatenate(losses)[:steps], **named(after, under(after, self._part(number)))}

    def state(self, step: int) -> dict[str, np.ndarray]:
        return self.job.start if step == 0 else under(f"state {step}", self._part(step // SAMPLED_EVERY - 1))


def step_request(recording: Recording, dtype: str, number: int, state: Arrays) -> Request:
    """A step from a state, with the reference's own gradients there for the update."""
    request = recording.job.step(dtype, number, rounded_arrays(dict(state), dtype))
    gradients = named("gradients", under("gradient", reference.answer(request)))
    return Request("step", dtype, request.spec, {**request.arrays, **rounded_arrays(gradients, dtype)})


def stepwise_experiments(recording: Recording, dtype: str) -> list[Comparison]:
    def request(number: int) -> Request:
        return step_request(recording, dtype, number, recording.state(number))

    rows = rows_of("step", dtype)
    return [Comparison(f"step {number}", dtype, rows, partial(request, number)) for number in SAMPLED if rows]


class FreeRunning:
    """A training from the reference's state by itself. ``curves`` are kept by backend for the report."""

    after = False
    row = "free-running"

    def __init__(self, recording: Recording, dtype: str, first: int = 0, steps: int = FREE_STEPS):
        self.recording, self.dtype = recording, dtype
        self.first, self.steps = first, steps
        self.curves: dict[str, Curve] = {}

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, f"{self.steps} steps" + (f" from step {self.first}" if self.first else ""), self.dtype)]

    @cached_property
    def start(self) -> Arrays:
        return rounded_arrays(self.recording.state(self.first), self.dtype)

    def _request(self, start: Mapping[str, np.ndarray]) -> Request:
        return self.recording.job.run(self.dtype, self.first, self.steps, start, states_at=[self.first + 1])

    @cached_property
    def band(self) -> Band:
        return Band(self.dtype, self.start, self._request, self._expected)

    def _expected(self) -> Arrays:
        """Return what was recorded, where that began from the same numbers: in float32 before the first step alone."""
        recorded = self.recording.state(self.first)
        if all(np.array_equal(recorded[name], value) for name, value in self.start.items()):
            return self.recording.run(self.first, self.steps)
        return reference.answer(self._request(self.start))

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got, cell = ask(self._request(self.start)), self.cells(backend)[0]
        check_answer(got, self.band.expected, self.dtype)
        expected = self.band.expected
        verdict, flipped = self._first_step(one_step_error(got, expected, self.first + 1)), 0
        if not verdict.passed and self.dtype == "float32":
            verdict, expected, flipped = self._on_either_side(verdict, got)
        if not verdict.passed:
            return [replace(verdict, reason=f"its first step is off by {verdict.reason}").of(cell, backend)]
        curve = self.band.around(divergence(got["losses"], expected["losses"]))
        self.curves[backend] = curve
        return [curve.judge().at_kinks(flipped).of(cell, backend)]

    def _on_either_side(self, verdict: Verdict, got: Arrays) -> tuple[Verdict, Arrays, int]:
        """Judge a first step that fails by the exact one on its side of ReLUs' kinks.

        Return with it the exact run that begins so, and how many kinks it takes on their other side.
        """
        step = self.recording.job.run(self.dtype, self.first, 1, self.start, states_at=[self.first + 1])

        def errors(expected: Arrays) -> Errors:
            return one_step_error(got, expected, self.first + 1)

        off = errors(self.band.expected)
        flipped, off = reference.nearer_sides(step, reference.near_kinks(step), off, errors, lambda each: each.norm)
        if not flipped:
            return verdict, self.band.expected, 0
        return self._first_step(off), reference.answer_with(self._request(self.start), flipped), len(flipped)

    def _first_step(self, off: Errors) -> Verdict:
        if self.dtype != "float32":
            return judge(self.row, self.dtype, off, Baseline())
        return judge_by_draws(self.row, self.dtype, off, self._single_steps)

    def _single_steps(self, copies: int = 0) -> Baseline:
        """Measure the first step of NumPy in float32, from the start and from perturbed ones: where a gradient is nearly
        zero, Adam makes of its rounding a whole step up or down, of one number or of another."""
        after = self.first + 1
        draws = [one_step_error(self.band.baseline, self.band.expected, after)]
        for number in range(copies):
            start = self.band.perturbed_start(number)
            request = self.recording.job.run(self.dtype, self.first, 1, start, states_at=[after])
            draws.append(one_step_error(reference.baseline(request), reference.answer(request), after))
        return Baseline(numpy=worst_errors(draws), copies=worst_errors(draws))


def later_runs(recording: Recording, dtype: str) -> list[FreeRunning]:
    """Return, in float32, runs of ten steps from the reference's later states.

    A band of 120 steps widens as rounding grows: a learning rate 1 % too large from step 20 on stays within it. In float64 it
    is too narrow for that until training is chaos.
    """
    firsts = range(SAMPLED_EVERY, FREE_STEPS, SAMPLED_EVERY) if dtype == "float32" else ()
    return [FreeRunning(recording, dtype, first, SAMPLED_EVERY) for first in firsts]


def free_experiments(recording: Recording, dtype: str) -> list[FreeRunning]:
    """Return the run from the first step on, and the later ones."""
    whole = [FreeRunning(recording, dtype)] if dtype in LADDER[FreeRunning.row].dtypes else []
    return [*whole, *later_runs(recording, dtype)]


def one_step_error(got: Arrays, expected: Arrays, step: int) -> Errors:
    """Measure all weights together after one step."""
    answers = [under(f"state {step}.weights", answer) for answer in (got, expected)]
    first, second = (np.concatenate([weights[name].ravel() for name in answers[1]]) for weights in answers)
    return errors(first, second, floor=0.0)
