"""Seconds from the shell to the first translated sentence and to the end of a first training step, beside the import alone.

    python benchmarks/first_answer.py [--times 5] [--folder build/first_answer] [--json FILE] [--page FILE]

The model is the demo's: two layers of 32. Compiled programs are kept from run to run, as users have them: each runs once
before it is timed. The commands take turns, so that a machine whose speed drifts favors none.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from program import fill, keep, program
from transformer_mb.built_in import BUILT_IN

IMPORTS = {"mxnet": "import numpy; numpy.bool = bool; import mxnet", "jax": "import jax; from flax import nnx"}
PAIRS = "go .\tva !\ni lost .\tj'ai perdu .\nhe's calm .\til est calme .\ni'm home .\tje suis chez moi .\n" * 16
PROGRAM = [sys.executable, "-m", "transformer_mb"]


def commands(name, folder):
    """Return what is timed of a backend, as argument lists with what each reads from its standard input."""
    imported = IMPORTS.get(name, f"import {name}")
    trained = [*PROGRAM, "train", "--data", folder / "pairs.tsv", "--out", folder / f"step-{name}", "--force"]
    return {
        "import": ([sys.executable, "-c", imported], ""),
        "sentence": ([*PROGRAM, "translate", folder / "model", "--backend", name], "go .\n"),
        "step": ([*trained, "--backend", name, "--epochs", "1", "--batch-size", "64"], ""),
    }


def run(command, text):
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")}
    subprocess.run([*map(str, command)], input=text, text=True, check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def table(measured):
    yield "| backend | importing the framework, s | first sentence, s | ratio | first training step, s |"
    yield "|---|---|---|---|---|"
    for name, one in measured.items():
        figures = {what: f"{statistics.median(seconds):.2f} ({min(seconds):.2f})" for what, seconds in one.items()}
        ratio = statistics.median(one["sentence"]) / statistics.median(one["import"])
        yield f"| {name} | {figures['import']} | {figures['sentence']} | {ratio:.1f} | {figures['step']} |"


def main():
    parser = program(__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "build" / "first_answer")
    parser.add_argument("--page", type=Path, help="a page with the comments first-answer, to fill in")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.tsv").write_text(PAIRS)
    run([*PROGRAM, "train", "--data", folder / "pairs.tsv", "--out", folder / "model", "--epochs", "30", "--force"], "")
    timed = {name: commands(name, folder) for name in BUILT_IN}
    measured = {name: {what: [] for what in timed[name]} for name in BUILT_IN}
    for turn in range(options.times + 1):
        for name, own in timed.items():
            for what, (command, text) in own.items():
                seconds = run(command, text)
                if turn:
                    measured[name][what].append(round(seconds, 3))
    print(*table(measured), sep="\n")
    keep(options.json, {"times": options.times, "seconds": measured})
    if options.page:
        fill(options.page, "first-answer", "\n".join([*table(measured), ""]))


if __name__ == "__main__":
    main()
