"""Measures which results another processor changes: each backend's cells by settings that take others' code paths.

    python benchmarks/kernels.py [--seed 0] [--cases PATTERNS]

The settings are those of tests/processors.py. A result depends on the processor where its error is another under one of them.
All cells are kept in results/parity_kernels.json and docs/SWEEPS.md; some, by ``--cases``, are printed alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from processors import SETTINGS, environment  # noqa: E402

from program import fill, keep, machine  # noqa: E402
from transformer_mb.built_in import EVERY_DTYPE  # noqa: E402
from transformer_mb.parity.cells import Result  # noqa: E402
from transformer_mb.parity.ladder import LADDER  # noqa: E402
from transformer_mb.parity.notable import closest  # noqa: E402
from transformer_mb.parity.plan import Plan  # noqa: E402
from transformer_mb.parity.selection import Selection, matches  # noqa: E402
from transformer_mb.printable import table_cell  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "parity_kernels.json"
THREADS = "OMP_NUM_THREADS"  # whose setting is of no instructions
# The computations of whole trainings, which take most of the time, and of first weights, of which no seed fixes all.
LEFT_OUT = ("step", "run", "made")
DRAWN = "|".join(f"{name}: *" for name, row in LADDER.items() if row.computation not in LEFT_OUT)


def measured(backend: str, variables: Mapping[str, str], seed: int, cases: str) -> dict[str, Result]:
    """Run a backend's column, of which some rows may have no cell; return its results by the ids of their cells."""
    ids = Plan(Selection(cases=cases, seed=seed), [backend]).ids(EVERY_DTYPE)
    met = "|".join(pattern for pattern in cases.split("|") if any(matches(pattern, name) for name in ids))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        options = ["--backends", backend, "--seed", str(seed), "--cases", met, "--json", str(path)]
        command = [sys.executable, "-m", "transformer_mb", "parity", *options]
        done = subprocess.run(command, env=dict(variables), capture_output=True, text=True, cwd=ROOT)
        if not path.is_file():
            sys.exit(f"The matrix of {backend} must end with a file, got status {done.returncode}:\n{done.stderr[-2000:]}")
        results = [Result(**one) for one in json.loads(path.read_text(encoding="utf-8"))["results"]]
    return {one.cell.id: one for one in results}


def compared(plain: Mapping[str, Result], other: Mapping[str, Result]) -> dict[str, Any]:
    """Count by row and dtype the cells, and those whose error is another; name what failed and what came nearest."""
    rows: dict[str, dict[str, list[int]]] = {}
    for name, one in other.items():
        counts = rows.setdefault(one.row, {}).setdefault(one.dtype, [0, 0])
        counts[0] += 1
        counts[1] += one.error != plain[name].error
    failed = [one for one in other.values() if one.has_failed]
    nearest = closest([one for one in other.values() if not one.has_failed])[0]
    first = {one.reason.splitlines()[0]: one.cell.id for one in reversed(failed)}
    counts_of = Counter(one.reason.splitlines()[0] for one in failed)
    told = [f"{counts_of[reason]} such as {cell}: {reason}" for reason, cell in first.items()]
    return {"rows": rows, "failed": len(failed), "told": told, "nearest": nearest.cell.id, "share": nearest.share}


def page_part(record: Mapping[str, Any]) -> str:
    """A table of the settings, what failed under them, and a table of the rows."""
    lines = [f"Seed {record['seed']}, {record['machine']['processor']}:", ""]
    lines += ["| setting | backend | cells | other errors | failed | nearest to its limit |", "|---|---|---|---|---|---|"]
    for run in record["runs"]:
        cells, others = (sum(counts[i] for row in run["rows"].values() for counts in row.values()) for i in (0, 1))
        nearest = table_cell(f"{run['share']:.2f}: {run['nearest']}")
        lines.append(f"| `{run['setting']}` | {run['backend']} | {cells:,} | {others:,} | {run['failed']} | {nearest} |")
    lines += ["", *(f"- `{run['setting']}`, {run['backend']}, {line}" for run in record["runs"] for line in run["told"])]
    dtypes = [dtype for dtype in EVERY_DTYPE if any(dtype in row for run in record["runs"] for row in run["rows"].values())]
    lines += ["", f"| row | {' | '.join(dtypes)} |", "|---|" + "---|" * len(dtypes)]
    for row in dict.fromkeys(chain.from_iterable(run["rows"] for run in record["runs"])):
        lines.append(f"| {row} | {' | '.join(_changed(record, row, dtype) for dtype in dtypes)} |")
    return "\n".join(lines) + "\n"


def _changed(record: Mapping[str, Any], row: str, dtype: str) -> str:
    """Count a row's results that are others, over all settings; empty where it has none."""
    counts = [run["rows"][row][dtype] for run in record["runs"] if dtype in run["rows"].get(row, ())]
    return f"{sum(changed for _, changed in counts):,} of {sum(cells for cells, _ in counts):,}" if counts else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the cells (default: 0)")
    parser.add_argument("--cases", default=DRAWN, help="patterns, as `transformer-mb parity --cases` has them")
    chosen = parser.parse_args()
    plain: dict[str, dict[str, Result]] = {}
    runs = []
    for setting in (one for one in SETTINGS if one.variable != THREADS):
        for backend in setting.backends:
            if backend not in plain:
                plain[backend] = measured(backend, {**os.environ, "PYTHONPATH": str(ROOT)}, chosen.seed, chosen.cases)
            found = compared(plain[backend], measured(backend, environment(setting), chosen.seed, chosen.cases))
            runs.append({"setting": f"{setting.variable}={setting.value}", "backend": backend, **found})
            print(f"{runs[-1]['setting']}, {backend}: {found['failed']} failed", flush=True)
    record = {"machine": machine(), "seed": chosen.seed, "cases": chosen.cases, "runs": runs}
    if chosen.cases == DRAWN:
        keep(RESULTS, record)
        fill(ROOT / "docs" / "SWEEPS.md", "kernels", page_part(record))
    else:
        print(page_part(record))


if __name__ == "__main__":
    main()
