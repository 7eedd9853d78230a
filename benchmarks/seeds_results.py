"""Keep what the matrix of many seeds measured: results/parity_seeds.json and its part of docs/SWEEPS.md.

    python benchmarks/seeds_results.py build/parity/seeds

The folder is that of ``parity --seeds --out``, or of the test of fifty seeds: a file per run, all of one code. Its runs may be
of several seeds, backends and rows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from program import fill, keep
from transformer_mb.built_in import BUILT_IN
from transformer_mb.parity.notable import as_markdown, widest
from transformer_mb.printable import counted

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "parity_seeds.json"
KEPT = ("row", "case", "dtype", "backend", "limit_by_norm")


class Found:
    """The results of one backend: what failed, what came nearest to its limit, and the widest limits."""

    def __init__(self) -> None:
        self.seeds: dict[str, set[int]] = {}  # of each row
        self.cells = 0
        self.failed: list[str] = []
        self.nearest: dict[tuple[str, str], dict[str, Any]] = {}
        self.widest: list[dict[str, Any]] = []

    def add(self, run: dict[str, Any], backend: str) -> None:
        """Add what a seed's run found of the backend, of the rows that have not this seed already."""
        seed = run["settings"]["seed"]
        results = [one for one in run["results"] if one["backend"] == backend and seed not in self.seeds.get(one["row"], ())]
        rows = dict.fromkeys(one["row"] for one in results)
        for row in rows:
            self.seeds.setdefault(row, set()).add(seed)
        self.cells += len(results)
        for one in results:
            if one["status"] == "failed":
                self.failed.append(f"seed {seed}, {one['row']}: {one['case']} [{one['dtype']}]: {one['reason']}")
        for one in run["closest"]:
            key = one["row"], one["dtype"]
            if one["backend"] == backend and key[0] in rows and one["share"] > self.nearest.get(key, {"share": -1.0})["share"]:
                self.nearest[key] = {"seed": seed, **one}
        found = [{"seed": seed, **{name: one[name] for name in KEPT}} for _, one in widest(results)]
        self.widest = [one for _, one in widest([*self.widest, *found])]

    def to_json(self, backend: str) -> dict[str, Any]:
        """Return the backend's row of the record: JSON's own types."""
        nearest = sorted(self.nearest.values(), key=lambda one: -one["share"])
        return {
            "backend": backend,
            "seeds": {row: len(seeds) for row, seeds in self.seeds.items()},
            "cells": self.cells,
            "failed": self.failed,
            "closest": nearest,
            "widest": self.widest,
        }


def gathered(folder: Path) -> dict[str, Any]:
    """Join the folder's runs."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "units").glob("*.json"))]
    codes = {run["code"] for run in found}
    if len(codes) != 1:
        sys.exit(f"The runs in {folder} must be of one code, got {len(codes)}.")
    backends: dict[str, Found] = {}
    for run in found:
        for backend in run["versions"]:
            backends.setdefault(backend, Found()).add(run, backend)
    return {"code": codes.pop(), "runs": [backends[name].to_json(name) for name in BUILT_IN if name in backends]}


def page_part(found: dict[str, Any]) -> str:
    """The counts, the nearest of all results and the widest limits, as the page shows them."""
    lines = []
    for run in found["runs"]:
        nearest = next(one for one in run["closest"] if one["share"] <= 1.0)  # those that failed are lines of their own
        what = f"{nearest['row']}: {nearest['case']} [{nearest['dtype']}]"
        lines += [
            f"- {run['backend']}, {_seeds(run['seeds'])}: {run['cells']:,} cells, {len(run['failed'])} failed.",
            f"  Nearest to its limit of those that passed: seed {nearest['seed']}, {what}, at {nearest['share']:.3f} of it.",
            *(f"  - {line}" for line in run["failed"]),
        ]
    return "\n".join([*lines, "", *as_markdown([one for run in found["runs"] for one in run["widest"]])]) + "\n"


def _seeds(counts: dict[str, int]) -> str:
    """The number of seeds that most rows have; the rows that have fewer are named."""
    most = max(counts.values())
    fewer: dict[int, list[str]] = {}
    for row, count in counts.items():
        fewer.setdefault(count, []).append(row)
    del fewer[most]
    return counted(most, "seed") + "".join(f" ({count} of {', '.join(rows)})" for count, rows in fewer.items())


def main(folder: str) -> None:
    found = gathered(Path(folder))
    keep(RESULTS, found)
    fill(ROOT / "docs" / "SWEEPS.md", "seeds", page_part(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
