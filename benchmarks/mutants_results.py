"""Keeps what ``make mutants`` measured under results/, the page docs/MUTANTS.md, and the scores in docs/PARITY.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from mutation.report import page, score_table  # noqa: E402

from program import fill, keep  # noqa: E402


def main(source: str) -> None:
    run = json.loads(Path(source).read_text(encoding="utf-8"))
    run.pop("killers", None)  # of runs before
    keep(ROOT / "benchmarks" / "results" / "mutants.json", run)
    (ROOT / "docs" / "MUTANTS.md").write_text(page(run))
    fill(ROOT / "docs" / "PARITY.md", "mutants", score_table(run))


if __name__ == "__main__":
    main(sys.argv[1])
