"""A comparison of runs in tables and sentences, as the command prints them, and docs/RUNS.md."""

from __future__ import annotations

from collections.abc import Iterator

from ...printable import counted
from ...reports.table import Table, bullets
from .attribution import ADDED, REMOVED, Effect
from .comparison import Comparison, Cost
from .runner import METRICS
from .switches import SWITCHES
from .verdicts import DIFFERENT, NO_VERDICT, SAME, UNDECIDED, Line


def tables(found: Comparison) -> list[Table]:
    return [*_verdicts(found), _costs(found), *([_effects(found)] if found.effects else [])]


def _verdicts(found: Comparison) -> Iterator[Table]:
    """Yield a table for each metric; differences in units of s, the reference's deviation from seed to seed."""
    for metric in METRICS:
        some = [line for line in found.lines if line.metric == metric]
        unit = next((line.unit for line in some if line.unit is not None), None)
        s = "" if unit is None else f", s {_figure(unit)}"
        title = f"{metric} ({found.reference} {_figure(some[0].reference_mean)}{s})"
        head = ("backend", "mean", "difference / s", "90 % interval", "would see", "p", "verdict")
        yield Table(head, [_line(line) for line in some], title, (1, 2, 3, 4, 5))


def _line(line: Line) -> tuple[str, ...]:
    middle = ("",) * 4
    if line.difference is not None and line.detectable is not None and line.p is not None:
        middle = (_shift(line.difference), _interval(line.low, line.high), _shift(line.detectable)[1:], _p(line.p))
    return (line.column, _figure(line.mean), *middle, verdict_of(line))


def verdict_of(line: Line) -> str:
    """``undecided (26 seeds)``: with what would decide, or with the reason."""
    if line.verdict == UNDECIDED:
        return f"{UNDECIDED} ({counted(line.needs, 'seed') if line.needs else 'too few seeds by far'})"
    return f"{line.verdict} ({line.reason})" if line.reason else line.verdict


def _costs(found: Comparison) -> Table:
    head = ("backend", "version", "first step", "tokens/s", "decoded/s", "peak memory", "model", "user time", "parts at")
    rows = [_cost(cost, int(found.job["steps"])) for cost in found.costs]
    return Table(head, rows, "what a run costs here (no verdict)", tuple(range(2, len(head))))


def _cost(cost: Cost, steps: int) -> tuple[str, ...]:
    parts = "" if cost.parts is None else "never" if cost.parts > steps else f"step {cost.parts}"
    return (
        cost.column,
        cost.version,
        "" if cost.first_step is None else f"{cost.first_step:.2f} s",
        f"{cost.tokens_per_second:,.0f}",
        f"{cost.decoded_per_second:,.0f}",
        f"{cost.peak_memory / 2**20:,.0f} MiB",
        f"{cost.checkpoint / 2**10:,.0f} KiB",
        f"{cost.user_seconds:.1f} s",
        parts,
    )


def _effects(found: Comparison) -> Table:
    by_place = {(one.column, one.switch, one.way): one for one in found.effects}
    rows = []
    for column, switch in dict.fromkeys((one.column, one.switch) for one in found.effects):
        both = [by_place[column, switch, way] for way in (ADDED, REMOVED)]
        rows.append((column, switch, *map(_effect, both), "named" if any(one.moves for one in both) else ""))
    title = "what each own part does to the mean log loss, in s with its 90 % interval"
    return Table(("backend", "own part", "added to the injected", "in the native", ""), rows, title, (2, 3))


def _effect(effect: Effect) -> str:
    if effect.difference is None:
        return effect.verdict
    return f"{_shift(effect.difference)} {_interval(effect.low, effect.high)}"


def sentences(found: Comparison) -> list[str]:
    """Return what the tables come to, a line each."""
    mode = "each framework's own parts" if found.native else "everything injected"
    length = f"{counted(len(found.seeds), 'seed')} of {counted(int(found.job['steps']), 'step')}"
    told = [f"{length}, {mode}; reference {found.reference}; margin {found.margin:g} s"]
    by_verdict: dict[str, list[str]] = {}
    for column in found.columns:
        by_verdict.setdefault(found.verdict(column), []).append(column)
    told += [f"{one}: {', '.join(by_verdict[one])}" for one in (SAME, DIFFERENT, UNDECIDED, NO_VERDICT) if one in by_verdict]
    if found.effects:
        told += [
            f"{column} is moved by: {', '.join(found.named(column)) or 'none of its own parts'}" for column in found.columns
        ]
    alarms = [share for share in found.alarms.values() if share is not None]
    if alarms:
        told.append(f"{found.reference} split against itself 200 times: called different in at most {max(alarms):.1%} of them")
    return told


def left_out(found: Comparison) -> list[str]:
    """Return, of a native comparison, which own parts there are none of, and why."""
    return [
        f"{column}, {switch}: {reason}"
        for column, reasons in (found.without.items() if found.native else ())
        for switch, reason in reasons.items()
    ]


def _figure(value: float) -> str:
    return f"{value:.4g}"


def _shift(value: float) -> str:
    """Format with a sign; what is below a hundredth is no more than that."""
    return f"{value:+.2f}" if abs(value) >= 0.005 or value == 0.0 else "+<0.01" if value > 0 else "-<0.01"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:+.2f}, {high:+.2f}]"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


HEAD = """# The same training on every backend

`transformer-mb compare runs` trained every backend on the same data:
{pairs:,} pairs ({name}), {steps} steps of {batch_size} pairs, {seeds} seeds.
The unit s is the standard deviation of the reference's own runs from seed to seed; [below](#how-to-read-this) is how to read
the rest.
"""
HOW = """## How to read this

A seed gives every backend the same order of the pairs. Four parts are injected, the same in all backends, or with `--native`
are each framework's own:

{switches}
Each line compares the runs of a backend with those of {reference} by pairs of one seed, in units of s.

- **same**: the 90 % interval of the difference lies within {margin:g} s on both sides (two one-sided tests at 5 %).
- **different**: not the same; the paired t-test finds a difference at 5 % after Holm over the backends, and so does the exact
  permutation of signs.
- **undecided**: neither of the two. The number beside it is how many seeds would decide, if mean and spread stay as they are.
- "p" is that of the paired t-test after Holm. "would see" is the smallest difference that this number of seeds finds four
  times in five. "parts at" is the first step at which the losses of a pair differ by more than a thousandth, by rounding alone,
  which training amplifies.
- Final loss is the mean of the last tenth of the steps; the threshold is a loss of {threshold:.3f} per token, three quarters of
  the way that {reference} goes; token accuracy and BLEU are of {held_out} held-out pairs, decoded greedily.
- Costs are medians, of one thread per backend, with as many backends at a time as there are processors; user time is the
  processor's.
"""


def document(found: Comparison) -> str:
    job = found.job
    parts = [
        HEAD.format(
            pairs=job["pairs"], name=job["name"], steps=job["steps"], batch_size=job["batch_size"], seeds=len(found.seeds)
        ),
        bullets(f"{_sentence(line)}." for line in sentences(found)),
        *(f"## {_sentence(table.title)}\n\n{table.markdown()}" for table in tables(found)),
        *(["## No part of its own\n", bullets(left_out(found))] if left_out(found) else []),
        HOW.format(
            switches=bullets(f"{name}: {injected}, or {own}." for name, (injected, own) in SWITCHES.items()),
            reference=found.reference,
            margin=found.margin,
            threshold=found.threshold,
            held_out=job["held_out"],
        ),
    ]
    return "\n".join(parts)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
