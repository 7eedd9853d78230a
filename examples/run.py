"""Train every example on one backend or on all, and check each checkpoint on every other, each in a process of its own.

    python examples/run.py eng-fra.tsv --train numpy
    python examples/run.py eng-fra.tsv --train all

Results lie in build/examples/BACKEND/EXAMPLE. Status 1 when an example misses a target or a checkpoint differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformer_mb.built_in import BUILT_IN
from transformer_mb.registry import VARIABLE

HERE = Path(__file__).parent
EXAMPLES = ("english_chinese", "german_english", "step_by_step", "fused_embedding", "english_french")
NEEDS_DATA = ("english_french",)
CHECKPOINTS = len(EXAMPLES) + 1  # fused_embedding leaves two
# Beside these examples' small arrays a second thread costs more than it brings.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run(script: str, arguments: list[object], backend: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / f"{script}.py"), *map(str, arguments)]
    environment = {**os.environ, **THREADS, VARIABLE: backend}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def told(done: subprocess.CompletedProcess[str], what: str, start: float) -> bool:
    """Print what a process said, and its standard error only if it failed."""
    print(f"\n== {what} ({time.perf_counter() - start:.0f} s)\n{done.stdout.rstrip()}", flush=True)
    if done.returncode:
        print(done.stderr[-4000:], file=sys.stderr)
    return done.returncode == 0


def train(backend: str, data: Path, out: Path) -> bool:
    """All examples, also after one has failed."""
    held = []
    for example in EXAMPLES:
        start, folder = time.perf_counter(), out / backend / example
        for probe in folder.rglob("probe.json"):
            probe.unlink()  # of an earlier run: what this one does not make must not be checked
        arguments = [*([data] if example in NEEDS_DATA else []), "--out", folder]
        held.append(told(run(example, arguments, backend), f"{example} on {backend}", start))
    return all(held)


def check(folders: list[Path], jobs: int) -> bool:
    """Every checkpoint on every backend, also on the one that trained it."""
    start = time.perf_counter()
    if not told(run("check", ["--reference", *folders], "numpy"), "the reference: NumPy in float64", start):
        return False

    def one(backend: str) -> bool:
        start = time.perf_counter()
        return told(run("check", folders, backend), f"checked on {backend}", start)

    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(one, BUILT_IN)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a file of English, tab, French")
    parser.add_argument("--train", default="numpy", help=f"{', '.join(BUILT_IN)} or all")
    parser.add_argument("--out", type=Path, default=Path("build") / "examples")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="backends that check at a time")
    options = parser.parse_args()
    if options.train != "all" and options.train not in BUILT_IN:
        parser.error(f"--train must be one of {', '.join(BUILT_IN)} or all, got {options.train!r}")
    if not options.data.is_file():
        parser.error(f"there is no file {options.data}")
    start = time.perf_counter()
    backends = list(BUILT_IN) if options.train == "all" else [options.train]
    held = [train(backend, options.data, options.out) for backend in backends]
    probes = [probe.parent for backend in backends for probe in sorted((options.out / backend).rglob("probe.json"))]
    expected = CHECKPOINTS * len(backends)
    trained, checked = all(held), check(probes, options.jobs) and len(probes) == expected
    print(f"\n{len(probes)} of {expected} checkpoints on {len(BUILT_IN)} backends, {time.perf_counter() - start:.0f} s in all")
    print(f"targets of the examples: {'held' if trained else 'MISSED'}; checkpoints: {'the same' if checked else 'DIFFER'}")
    sys.exit(0 if trained and checked else 1)


if __name__ == "__main__":
    main()
