"""The mutation score: mistakes made mechanically in the backends' files and what they share, and which the matrix sees.

python -m tools.mutation [--backends torch,numpy] [--files attention.py] [--number 120 | --all] [--seeds 0]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from transformer_mb.built_in import EVERY_DTYPE
from transformer_mb.parity.worker import source_digest

from .engine import Engine
from .frameworks import AGAIN
from .mutants import Mutant, all_mutants, sample
from .report import HEAD, by_file, printed, summary
from .results import Results
from .sources import PARTS, ROOT
from .together import judged


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [*map(int, _names(text))]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backends", type=_names, default=list(PARTS), help="names with commas (default: all, and shared)")
    parser.add_argument("--files", type=_names, help="names of files with commas, such as attention.py (default: all)")
    parser.add_argument("--number", type=int, default=120, help="mistakes per backend (default: 120)")
    parser.add_argument("--all", action="store_true", help="every mistake there is")
    parser.add_argument("--mutants-seed", type=int, default=0, help="draws the sample (default: 0)")
    parser.add_argument("--seeds", type=_numbers, default=[0, 1, 2], help="of the cells (default: 0,1,2)")
    parser.add_argument("--dtypes", type=_names, default=list(EVERY_DTYPE), help="of the cells (default: all)")
    parser.add_argument("--cases", help="patterns of the cells, as `transformer-mb parity --cases` has them (default: all)")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "mutants" / "mutants.json", help="where results go")
    parser.add_argument("--jobs", type=int, default=1, help="backends at a time (default: 1)")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.backends if name not in PARTS]:
        parser.error(f"--backends must be of {', '.join(PARTS)}, got {', '.join(unknown)}.")
    return chosen


def run(backend: str, chosen: argparse.Namespace, results: Results) -> None:
    """Judge one backend: record what its experiments execute, then one mistake after the other."""
    began = time.perf_counter()
    mutants = [mutant for mutant in all_mutants(backend) if chosen.files is None or mutant.name in chosen.files]
    engine = Engine(backend, {"dtypes": chosen.dtypes, "cases": chosen.cases}, chosen.seeds)
    try:
        recorded = engine.record()
        reached = [mutant for mutant in mutants if engine.seen_by(mutant)]
        results.begin(backend, _facts(engine, mutants, reached))
        print(
            f"{backend}: {len(recorded.cells)} experiments, {len(reached)} of {len(mutants)} mistakes are reached; recorded in "
            f"{time.perf_counter() - began:.0f} s",
            *(f"    fails without any mistake: {cell}: {why}" for cell, why in recorded.wrong.items()),
            sep="\n",
            flush=True,
        )
        wanted = sample(reached, None if chosen.all else chosen.number, chosen.mutants_seed)
        known = results.known(backend)
        _judge(engine, [mutant for mutant in wanted if mutant.key not in known], results)
    finally:
        engine.stop()


def _judge(engine: Engine, mutants: list[Mutant], results: Results) -> None:
    # In another order than by file: what a cut leaves is a sample too.
    random.Random(0).shuffle(mutants)
    for number, (mutant, verdict) in enumerate(judged(engine, mutants, results.killers), 1):
        record = results.add(engine.backend, mutant, verdict)
        what = f"{verdict.cell}: {verdict.said}" if verdict.cell else verdict.said
        print(
            f"{engine.backend} {number}/{len(mutants)} {record.fate}, {verdict.seconds:.1f} s: {mutant.key}",
            *([f"    {what}"] if what else []),
            sep="\n",
            flush=True,
        )


def _facts(engine: Engine, mutants: list[Mutant], reached: list[Mutant]) -> dict[str, Any]:
    taken = {mutant.key for mutant in reached}
    left = Counter(f"{mutant.file} {mutant.function or 'module'}" for mutant in mutants if mutant.key not in taken)
    return {
        "dtypes": engine.recorded.dtypes,
        "experiments": len(engine.recorded.cells),
        "mistakes": len(mutants),
        "reached": len(reached),
        "not_reached": dict(sorted(left.items())),
        "wrong": engine.recorded.wrong,
    }


def main() -> None:
    chosen = arguments()
    facts = {
        "seeds": chosen.seeds,
        "dtypes": chosen.dtypes,
        "cases": chosen.cases,
        "number": None if chosen.all else chosen.number,
        "mutants_seed": chosen.mutants_seed,
        "digest": source_digest(),
        "again": AGAIN,
    }
    results = Results(chosen.json, facts)
    failed = False
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for one in as_completed([pool.submit(run, backend, chosen, results) for backend in chosen.backends]):
            if error := one.exception():  # told now: the others may go on for an hour
                traceback.print_exception(error)
                failed = True
    if failed:
        sys.exit(1)
    written = json.loads(chosen.json.read_text())
    print(f"\n{printed(HEAD, summary(written))}\n\n{printed(('file', *written['backends']), by_file(written))}")


if __name__ == "__main__":
    main()
