"""The findings of a comparison of runs, and their file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ...reports.record import finite, read_record
from .attribution import Effect, named
from .runner import METRICS, Run
from .verdicts import DIFFERENT, NO_VERDICT, SAME, UNDECIDED, Line, lines, self_control

MEDIANS = ("tokens_per_second", "decoded_per_second", "user_seconds")
POINTS = 60  # of a curve
TO_GO = 0.25  # of the way from the first loss to the last, which the threshold leaves


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Costs of a column's training here, apart from the verdicts: medians over its runs.

    Attributes:
        first_step: seconds of the first of all steps. tokens_per_second, decoded_per_second, peak_memory, checkpoint: as of a
            Run. user_seconds: processor time of a run.
        parts: the step from which the losses of a pair differ by more than a thousandth, median over the seeds; one more than
            there are: never. None of the reference, and where the pairs do not begin alike.
    """

    column: str
    version: str
    first_step: float | None
    tokens_per_second: float
    decoded_per_second: float
    peak_memory: int
    checkpoint: int
    user_seconds: float
    parts: int | None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The results of one job in several columns (backends, in some version and on some device) over seeds.

    Attributes:
        job: what was trained (``TrainingJob.described``). native: whether with each framework's own parts.
        threshold: the loss per token that is three quarters of the reference's way from its first to its last.
        lines: a verdict for each metric and column. costs: of every column, the reference's first.
        without: by column, the switches that make no difference to it, with the reasons.
        alarms: by metric, how often the reference's own halves are called different; None of fewer than 12 seeds.
        effects: of an attribution, else empty. runs: all of them. seconds: of the whole comparison.
    """

    job: Mapping[str, Any]
    native: bool
    reference: str
    seeds: tuple[int, ...]
    margin: float
    threshold: float
    lines: tuple[Line, ...]
    costs: tuple[Cost, ...]
    without: Mapping[str, Mapping[str, str]]
    alarms: Mapping[str, float | None]
    effects: tuple[Effect, ...]
    runs: tuple[Run, ...]
    seconds: float

    @property
    def columns(self) -> list[str]:
        """Return their labels, without the reference's."""
        return [cost.column for cost in self.costs if cost.column != self.reference]

    def verdict(self, column: str) -> str:
        """Return the verdict of all metrics together: different where one is, else undecided where one is."""
        found = {line.verdict for line in self.lines if line.column == column}
        return next(one for one in (DIFFERENT, UNDECIDED, NO_VERDICT, SAME) if one in found)

    def named(self, column: str) -> list[str]:
        """The switches that an attribution makes responsible, the largest effect first."""
        return named([effect for effect in self.effects if effect.column == column])

    def to_dict(self) -> dict[str, Any]:
        """Return what --json writes; of the losses of single steps as many as a picture shows."""
        return finite(
            {
                **{name: value for name, value in vars(self).items() if name not in ("lines", "costs", "effects", "runs")},
                "verdicts": {column: self.verdict(column) for column in self.columns},
                "named": {column: self.named(column) for column in self.columns if self.effects},
                "lines": [asdict(line) for line in self.lines],
                "costs": [asdict(cost) for cost in self.costs],
                "effects": [asdict(effect) for effect in self.effects],
                "runs": [run.recorded(self.threshold) for run in self.runs],
                "curves": self.curves(),
            }
        )

    def curves(self) -> dict[str, Any]:
        """Return the loss of some ``steps``, from 1 on, of each run: ``losses`` by column, a list per seed.

        Of an attribution's runs those with all of the column's own parts; a run that broke off has no curve.
        """
        steps = int(self.job["steps"])
        shown = sorted({round(1 + number * (steps - 1) / (POINTS - 1)) for number in range(POINTS)})
        losses: dict[str, list[list[float]]] = {}
        for column in (cost.column for cost in self.costs):
            runs = [run for run in self.runs if run.column == column]
            most = max((len(run.own) for run in runs), default=0)
            whole = [run for run in runs if len(run.own) == most and len(run.losses) == steps]
            losses[column] = [[float(f"{run.losses[step - 1]:.5g}") for step in shown] for run in whole]
        return {"steps": shown, "losses": losses}


def threshold_of(runs: Sequence[Run]) -> float:
    """Return the threshold of the reference's runs alone."""
    first, last = median(run.first_loss for run in runs), median(run.final_loss for run in runs)
    return last + TO_GO * (first - last)


def judged(
    runs: Mapping[str, Sequence[Run]], reference: str, threshold: float, margin: float
) -> tuple[tuple[Line, ...], dict[str, float | None]]:
    """The lines of every metric, and the reference's own false alarms; each column's runs in the order of the seeds."""
    found: list[Line] = []
    alarms: dict[str, float | None] = {}
    for metric, measure in METRICS.items():
        values = {label: [measure(run, threshold) for run in some] for label, some in runs.items()}
        before = values.pop(reference)
        found += lines(metric, before, values, margin)
        alarms |= self_control({metric: before}, margin) if all(map(math.isfinite, before)) else {metric: None}
    return tuple(found), alarms


def cost_of(label: str, runs: Sequence[Run], reference: Sequence[Run], alike: bool) -> Cost:
    """``alike``: whether the pairs begin with the same weights and masks."""
    parts = [run.parts_from(other) for run, other in zip(runs, reference, strict=True)] if alike else []
    return Cost(
        column=label,
        version=runs[0].version,
        first_step=next((run.first_step for run in runs if run.first_step is not None), None),
        peak_memory=max(run.peak_memory for run in runs),
        checkpoint=runs[0].checkpoint,
        parts=round(median(parts)) if parts else None,
        **{name: median(getattr(run, name) for run in runs) for name in MEDIANS},
    )


DERIVED = ("verdicts", "named", "runs", "curves")


def read_comparison(path: Path) -> Comparison:
    """Read a comparison, without ``runs``, whose losses are not in the file."""
    return read_record(path, "runs", comparison_of)


def comparison_of(content: Any) -> Comparison:
    """Return the comparison that ``to_dict`` wrote, without ``runs``; raises ValueError, KeyError or TypeError for others."""
    return Comparison(**_fields(content))


def _fields(content: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in content.items() if name not in DERIVED}
    rows = {"lines": Line, "costs": Cost, "effects": Effect}
    made = {name: tuple(kind(**_numbers(row)) for row in content[name]) for name, kind in rows.items()}
    return {**fields, **made, "seeds": tuple(content["seeds"]), "runs": ()}


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """A mean that was no number is null in JSON."""
    return {
        name: float("nan") if value is None and name in ("mean", "reference_mean") else value for name, value in row.items()
    }
