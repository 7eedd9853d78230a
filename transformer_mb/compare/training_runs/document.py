"""A comparison as Markdown: what --markdown writes, and docs/RUNS.md is made of."""

from __future__ import annotations

from collections.abc import Sequence

from .comparison import Comparison
from .words import TextTable, left_out, meanings, sentences, tables

HEAD = """# The same training on every backend

Measured by `transformer-mb compare runs`: {pairs:,} pairs ({name}), {steps} steps of {batch_size} pairs, {seeds} seeds.
"""
HOW = """## How to read this

A seed gives every backend the same order of the pairs. Four parts are injected, the same in all of them, or with `--native`
each framework's own:

{switches}
Each line compares the runs of a backend with those of {reference} by pairs of one seed. The unit s is the deviation of
{reference}'s own runs from seed to seed.

- **same**: the 90 % interval of the difference lies within {margin:g} s on both sides (two one-sided tests at 5 %).
- **different**: not the same; the paired t-test finds a difference at 5 % after Holm over the backends, and so does the exact
  permutation of signs.
- **undecided**: neither of the two. The number beside it is how many seeds would decide, if mean and spread stay as they are.
- "would see" is the smallest difference that so many seeds find four times in five. "parts at" is the first step at which the
  losses of a pair differ by more than a thousandth: rounding alone, which training amplifies.
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
        _list([f"{line[:1].upper()}{line[1:]}." for line in sentences(found)]),
        *map(_markdown, tables(found)),
        *(["## No part of its own\n", _list(left_out(found))] if left_out(found) else []),
        HOW.format(
            switches=_list([f"{meaning}." for meaning in meanings()]),
            reference=found.reference,
            margin=found.margin,
            threshold=found.threshold,
            held_out=job["held_out"],
        ),
    ]
    return "\n".join(parts)


def _markdown(table: TextTable) -> str:
    rule = ["---:" if i in table.numbers else "---" for i in range(len(table.head))]
    rows = [f"| {' | '.join(row)} |" for row in (table.head, rule, *table.rows)]
    return "\n".join([f"## {table.title[:1].upper()}{table.title[1:]}\n", *rows, ""])


def _list(lines: Sequence[str]) -> str:
    return "\n".join([*(f"- {line}" for line in lines), ""])
