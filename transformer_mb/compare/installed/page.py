"""A comparison of versions as rows of words, what differs first; and docs/VERSIONS.md, from the JSON of runs."""

from __future__ import annotations

from collections.abc import Sequence

from ...parity.cells import PASSED
from ...printable import counted
from ...reports.table import Row, Table, bullets
from ..facts import Fact
from ..words import value_text
from .measuring import Version, Versions
from .speed import BATCH, FIGURES, STEPS, TIMES

# Why versions differ, read in their installed sources: by framework and probe.
CAUSES = {
    "jax": {
        "a seed's uniform numbers": (
            "`jax_threefry_partitionable` is off by default in 0.4.38 and on in 0.7.1 (`jax/_src/config.py`), which numbers "
            "the draws otherwise: every key gives other numbers, and a longer draw begins with those of a shorter one "
            "(announced in jax-ml/jax discussion 18480)."
        ),
        "squared error of a column and a row": (
            "Optax 0.2.5 checks the shapes with chex, which raises AssertionError, Optax 0.2.8 with a check of its own, which "
            "raises ValueError (`optax/losses/_regression.py`)."
        ),
        "prelu first slope": "Flax 0.10.4 has no `nnx.PReLU`, Flax 0.12.0 does (`flax/nnx/nn/activations.py`).",
    },
    "torch": {
        "attention layer without any key": (
            "`MultiheadAttention` took a plain softmax of minus infinities in 1.13 and calls `scaled_dot_product_attention`, "
            "whose softmax gives zeros, in 2.13 (`torch/nn/functional.py`), where no weights are asked for."
        ),
        "padding that leaves an encoder": (
            "`TransformerEncoder` made its nested result as wide as the longest sentence (`to_padded_tensor(0.)`) and makes it "
            "as wide as its input since (`to_padded_tensor(0.0, src.size())`, `torch/nn/modules/transformer.py`)."
        ),
        "SGD learning rate": (
            "`lr=required` became `lr=1e-3` (`torch/optim/sgd.py`; pytorch/pytorch#114467): a program that names no rate runs "
            "now."
        ),
    },
}


def packages(comparison: Versions) -> list[Row]:
    """Return the packages whose versions differ, and the interpreters."""
    names = dict.fromkeys(name for one in comparison.versions for name in one.packages)
    rows = [(name, *(one.packages.get(name, "none") for one in comparison.versions)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def behaviours(comparison: Versions) -> list[Row]:
    """The facts that are not the same; probes with the same answers share a row."""
    labels = [one.label for one in comparison.versions]
    rows: dict[Row, list[str]] = {}
    for name, facts in comparison.different().items():
        by_label = {fact.framework: fact for fact in facts}
        rows.setdefault(tuple(_answer(by_label[label]) for label in labels), []).append(name)
    return [("; ".join(names), *answers) for answers, names in rows.items()]


def _answer(fact: Fact) -> str:
    text = value_text(fact.value)
    return f"{text}: {fact.reason}" if fact.reason and text.startswith("raises") else text


def speed(comparison: Versions) -> list[Row]:
    """Return the rows of speed; empty where none was measured."""
    if not any(one.speed for one in comparison.versions):
        return []
    return [(f"{name}, ms", *(_milliseconds(one.speed.get(name, "none")) for one in comparison.versions)) for name in FIGURES]


def _milliseconds(figure: float | str) -> str:
    return figure if isinstance(figure, str) else f"{figure:.3g}"


def cells(comparison: Versions) -> list[Row]:
    """Return the rows of the matrix's cells; empty where none was asked for."""
    measured = comparison.versions
    if not any(one.cells for one in measured):
        return []
    rows: list[Row] = [
        ("cells passed", *map(_passed, measured)),
        ("largest share of a limit", *("none" if one.closest is None else f"{one.closest:.2g}" for one in measured)),
    ]
    failed: Row = ("first that failed", *(one.reason or "none" for one in measured))
    return [*rows, failed] if any(one.reason for one in measured) else rows


def _passed(one: Version) -> str:
    others = ", ".join(f"{count} {status}" for status, count in one.cells.items() if status != PASSED)
    passed = f"{one.cells.get(PASSED, 0)} of {sum(one.cells.values())}"
    return f"{passed}, {others}" if others else passed


def table(comparison: Versions, rows: Sequence[Row] | None = None) -> Table:
    """Return some rows under the columns' labels; by default all of them, what differs first."""
    every = (behaviours, packages, speed, cells)
    rows = [row for part in every for row in (*part(comparison), ())] if rows is None else rows
    return Table(("", *(one.label for one in comparison.versions)), rows)


def summary(comparison: Versions) -> str:
    different = len(comparison.different())
    columns: Sequence[str] = [one.label for one in comparison.versions]
    differ, same = counted(different, "differs", "differ"), counted(comparison.probes - different, "is", "are")
    return f"{counted(comparison.probes, 'probe')} of {', '.join(columns)}: {differ}, {same} the same"


HEAD = f"""# What changed between versions

`transformer-mb compare versions` asked several installed versions of one framework the probes of
[BEHAVIOURS.md](BEHAVIOURS.md). It also timed D2L's model (float32, one thread, {BATCH} pairs of {STEPS} tokens, the median
of {TIMES}; on a shared machine, so that only large ratios mean anything), and ran some cells of the parity matrix, which
tell whether this package computes the same in all of them. What is the same in all columns is left out.
"""


def page(comparisons: Sequence[Versions]) -> str:
    return "\n".join([HEAD, *(_section(comparison) for comparison in comparisons)])


def _section(comparison: Versions) -> str:
    framework = comparison.versions[0].label.partition("@")[0]
    parts = [f"## {framework}\n", f"{summary(comparison)}.\n"]
    if not speed(comparison) or not cells(comparison):
        parts.append("A run of some probes alone; speed and cells were not measured in it.\n")
    for title, rows in (
        ("What its built-ins do", behaviours(comparison)),
        ("Installed", packages(comparison)),
        ("Speed", speed(comparison)),
        ("Cells of the parity matrix", cells(comparison)),
    ):
        if rows:
            parts += [f"### {title}, {framework}\n", table(comparison, rows).markdown()]
    causes = [f"{name}: {why}" for name, why in CAUSES.get(framework, {}).items() if name in comparison.different()]
    if causes:
        parts += [f"### Read in the installed sources, {framework}\n", bullets(causes)]
    return "\n".join(parts)
