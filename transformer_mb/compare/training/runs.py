"""``runs``: the same training job on several backends over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter

from ...built_in import BUILT_IN
from ...columns.column import Column
from ...columns.ending import TIMEOUT
from ...config import check_whole
from ...errors import ConfigError
from ...registry import canonical_name, installed
from ..scipy_stats import stats
from . import attribution
from .columns import Plan, Reasons, train_in_processes
from .comparison import Comparison, cost_of, judged, threshold_of
from .job import TrainingJob, built_in_job
from .runner import Asked, Run
from .switches import INJECTED
from .verdicts import MARGIN

SEEDS = range(12)
REFERENCE = "numpy"


def runs(
    backends: Sequence[str | Column] | None = None,
    seeds: Iterable[int] = SEEDS,
    *,
    native: bool = False,
    attribute: bool = False,
    margin: float = MARGIN,
    reference: str = REFERENCE,
    job: TrainingJob | None = None,
    timeout: float = TIMEOUT,
    threads: int = 1,
    progress: Callable[[Run], None] = lambda run: None,
) -> Comparison:
    """Train the same job in every backend with every seed, and judge the differences by the seeds' noise.

    Args:
        backends: names, or columns with an interpreter or a device; default: the built-in ones that are installed.
        seeds: of initial weights, order of the pairs, and dropout; pairs of runs have the same.
        native: False injects initial weights, dropout masks, Adam's formula and norm epsilon, so that the frameworks alone
            differ. True leaves each to the framework's own, as a user gets who changes nothing.
        attribute: with ``native``, train every mixture that is one switch away from either, to name what differs.
        margin: how many of the reference's seed deviations are no difference.
        reference: what the others are compared with. NumPy by default: it is always there, it is what all else is compared
            with, and it brings no initializers, optimizers and norms of its own that a difference could come from.
        job: what is trained; default: the demo's corpus and model, 300 steps.
        timeout: seconds that one run may take. threads: that a framework may use, in its own process.
        progress: called with every run as it ends, by several threads.
    Raises:
        ConfigError: an argument that cannot be, or scipy is missing. WorkerError: a framework's process could not begin, or
            ended.
    """
    stats()
    chosen, job = _seeds(seeds), built_in_job() if job is None else job
    if not margin > 0.0:
        raise ConfigError(f"margin must be above 0, got {margin}.")
    if attribute and not native:
        raise ConfigError("attribute needs native: with everything injected there is nothing to attribute.")

    def plan(label: str) -> Plan:
        def asked(reasons: Reasons) -> list[Asked]:
            own = attribution.own_switches(reasons) if native else INJECTED
            if attribute and label != reference:
                return attribution.asked(reasons, chosen)
            return [Asked(seed, own) for seed in chosen]

        return asked

    began = perf_counter()
    plans = {column.label: (column, plan(column.label)) for column in _columns(backends, reference)}
    done, without = train_in_processes(plans, job, timeout, progress, threads)
    return compared(done, without, reference, chosen, native, attribute, margin, job, perf_counter() - began)


def compared(
    done: Sequence[Run],
    without: Mapping[str, Reasons],
    reference: str,
    seeds: Sequence[int],
    native: bool,
    attribute: bool,
    margin: float,
    job: TrainingJob,
    seconds: float,
) -> Comparison:
    """The verdicts on runs that are done."""
    own = {label: attribution.own_switches(reasons) if native else INJECTED for label, reasons in without.items()}
    main = {
        label: sorted((run for run in done if run.column == label and set(run.own) == own[label]), key=lambda run: run.seed)
        for label in without
    }
    threshold = threshold_of(main[reference])
    found, alarms = judged(main, reference, threshold, margin)
    losses = [run.mean_log_loss for run in main[reference]]
    effects = [
        effect
        for label in (main if attribute else ())
        if label != reference
        for effect in attribution.effects(label, [run for run in done if run.column == label], losses, margin)
    ]
    return Comparison(
        job=job.described(),
        native=native,
        reference=reference,
        seeds=tuple(seeds),
        margin=margin,
        threshold=threshold,
        lines=found,
        costs=tuple(cost_of(label, main[label], main[reference], label != reference and not native) for label in main),
        without=without,
        alarms=alarms,
        effects=tuple(effects),
        runs=tuple(done),
        seconds=seconds,
    )


def _seeds(seeds: Iterable[int]) -> list[int]:
    chosen = list(seeds)
    for seed in chosen:
        check_whole("A seed", seed)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen) or min(chosen) < 0:
        raise ConfigError(f"seeds must be at least two different ones from 0 on, got {chosen!r:.80}.")
    return sorted(chosen)


def _columns(backends: Sequence[str | Column] | None, reference: str) -> list[Column]:
    """The reference first."""
    here = [name for name in BUILT_IN if name in installed()]
    given = [one if isinstance(one, Column) else Column(one) for one in (here if backends is None else backends)]
    for column in (Column(reference), *given):
        canonical_name(column.backend)
    by_label = {column.label: column for column in given}
    if len(by_label) < len(given):
        raise ConfigError(f"backends must be different columns, got {', '.join(column.label for column in given)}.")
    first = by_label.pop(reference, Column(reference))
    if not by_label:
        raise ConfigError(f"backends must name another than the reference {reference}, got {reference} alone.")
    return [first, *by_label.values()]
