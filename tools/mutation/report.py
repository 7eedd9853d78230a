"""The score as tables, for the terminal and for docs/MUTANTS.md."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from typing import Any

from .judged import EQUIVALENT, SURVIVORS
from .left_out import LEFT_OUT
from .results import EQUAL, SURVIVED, Record, records, score
from .sources import SHARED

HEAD = ("backend", "mistakes", "raised", "killed", "survived", "equivalent", "killed by numbers", "mutation score")
INTRODUCTION = """# Mistakes that the matrix must see

`make mutants` makes mechanical mistakes in the backends' files, one at a time, and runs the parity matrix's cells that execute
the changed line, until one fails. Each mistake *raised* (an exception, a crash or a hang, which any call would have shown), was
*killed* (a cell failed by its numbers), *survived* (all cells passed), or is *equivalent* (the changed program computes the
same).

- *Killed by numbers* is killed / (killed + survived): of the mistakes that raise no exception, the share that the cells and
  their limits detected.
- The *mutation score*, as it is usually counted, takes an exception for a kill:
  (raised + killed) / (raised + killed + survived).

Behind each share stands, in percent, its 95 % interval for all such mistakes, of which these are a sample (Wilson's).

Mistakes that survive the first cells are judged by the other cells in groups, with one mistake per function; where a cell
fails, it judges each mistake of the group by itself. One mistake may hide another in a group, so that the scores may be too
low, never too high.
"""
NO_GRADIENT = "the value is no tensor of floats, so there is no gradient to cut off"
SHARED_FILES = """*Shared* are the files that all backends compute with. NumPy's cells judge them: the reference has code of
its own for what they do.
"""
AGAIN = """What survived in the shared files, or in TensorFlow run eagerly, was judged once more by compiled TensorFlow, with
one cell of each row and dtype, and in the shared files by PyTorch; what survived in JAX by a process without float64, in which
JAX' own numbers have 32 bits.
"""


def summary(run: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row per backend."""
    rows = []
    for backend in run["backends"]:
        some = records(run, backend)
        of = score(some)
        counts = (len(some), of.raised, of.killed, of.survived, of.equivalent)
        rows.append((backend, *map(str, counts), of.by_numbers.percent, of.mutation_score.percent))
    return rows


def by_file(run: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row per file, a column per backend: killed / (killed + survived)."""
    scores: dict[str, dict[str, str]] = {}
    for backend in run["backends"]:
        files: dict[str, list[Record]] = {}
        for record in records(run, backend):
            files.setdefault(record.file.partition("/")[2], []).append(record)
        for file, some in files.items():
            scores.setdefault(file, {})[backend] = score(some).by_numbers.text
    return [(file, *(own.get(backend, "") for backend in run["backends"])) for file, own in sorted(scores.items())]


def printed(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    table = [tuple(head), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join(lines)


def table(head: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def score_table(run: dict[str, Any]) -> str:
    """Write the scores as docs/PARITY.md shows them."""
    return table(HEAD, summary(run))


def page(run: dict[str, Any]) -> str:
    """docs/MUTANTS.md."""
    chosen = f"a sample of {run['number']} or more for each backend" if run["number"] else "all of them"
    seeds = ", ".join(map(str, run["seeds"]))
    parts = [
        INTRODUCTION,
        f"Measured: {chosen}, drawn by seed {run['mutants_seed']}; the matrix's cells of seed {seeds}.\n",
        score_table(run),
        *([SHARED_FILES] if SHARED in run["backends"] else []),
        *([AGAIN] if run.get("again") else []),
        *([_added(run["added"])] if run.get("added") else []),
        'By file, killed / (killed + survived); "-" where every mistake raised or is equivalent, empty where none was drawn:\n',
        table(("file", *run["backends"]), by_file(run)),
        "## Survivors\n",
        *_listed(run, SURVIVED, SURVIVORS),
        "## Equivalent\n",
        *_listed(run, EQUAL, EQUIVALENT),
        "## Not reached\n",
        "No cell executes these lines; how many mistakes they could hold:\n",
        *(f"- {backend}: {_not_reached(facts)}" for backend, facts in run["backends"].items()),
        "\n## Left out\n",
        *(f"- `{name}`: {why}." for name, why in ChainMap(*reversed(LEFT_OUT)).items()),
    ]
    return "\n".join(parts) + "\n"


def _added(keys: list[str]) -> str:
    """Name what is counted as noticed though it survived at first."""
    places = ", ".join(f"`{key.partition(': ')[0]}`" for key in keys)
    return f"{len(keys)} mistakes survived the run; cells were added that see such, and each failed in one of them: {places}.\n"


def _listed(run: dict[str, Any], fate: str, reasons: dict[str, str]) -> list[str]:
    lines = []
    for backend in run["backends"]:
        for record in records(run, backend):
            if record.fate == fate:
                reason = reasons.get(record.key, NO_GRADIENT if record.status == "no change" else "not yet judged")
                where, _, change = record.key.partition(": ")
                lines.append(f"- {where}: `{change.replace('`', '')}`. {reason[:1].upper()}{reason[1:]}.")
    return [*lines, ""]


def _not_reached(facts: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` {count}" for name, count in facts["not_reached"].items()) or "none"
