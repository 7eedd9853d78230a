"""Memory and time of corpora that are streamed, tokenized into a cache and mapped from it.

    python benchmarks/corpus_memory.py [--pairs 1000000,5000000] [--folder FOLDER] [--json FILE]

For each size a file of sentence pairs is written, of words that occur as often as Zipf's law says, 4 to 40 words a side. Then a
fresh process prepares a training on it (words are counted, then all is tokenized), a second one prepares it again, and of up to
a million pairs both take a first step; of more, batches are read alone. Memory is what the system says of the process: private
to it (RssAnon), and pages of mapped files (RssFile), which the system takes back when others need them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from program import keep, machine, program

ROOT = Path(__file__).parents[1]
WORDS, SHORTEST, LONGEST, TRAINED = 30_000, 4, 40, 1_000_000
TOKENS, BATCHES, PARTS = 4096, 40_000, 8


def write_corpus(path, count):
    import numpy as np

    random = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(WORDS)])
    shares = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(shares) / shares.sum()
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, count, 10_000):
            rows = min(10_000, count - start)
            lengths = random.integers(SHORTEST, LONGEST + 1, rows)
            ends = np.cumsum(lengths)
            drawn = words[np.searchsorted(cumulated, random.random((2, ends[-1])))]
            for first, last in zip(ends - lengths, ends, strict=True):
                file.write(f"{' '.join(drawn[0, first:last])}\t{' '.join(drawn[1, first:last])}\n")


def memory():
    """MiB: private, and of mapped files."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return {name: round(int(lines[name].split()[0]) / 1024) for name in ("RssAnon", "RssFile")}


class Peak(threading.Thread):
    """The largest private memory, looked at ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.ended = 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.1):
            self.peak = max(self.peak, memory()["RssAnon"])

    def end(self):
        self.ended.set()
        self.join()
        return max(self.peak, memory()["RssAnon"])


def worker(path, folder, steps, in_memory):
    """Start a training, as far as its first step; then draw batches, with the memory along the way."""
    from transformer_mb.training import corpus_source
    from transformer_mb.training.job import prepare
    from transformer_mb.training.settings import Settings

    small = {"num_hiddens": 16, "ffn_num_hiddens": 16, "num_layers": 1, "num_heads": 2}
    recipe = {"batch_tokens": TOKENS, "pipeline": "words", "min_freq": 5}
    if in_memory:
        corpus_source.IN_MEMORY = 1 << 60
    data = {"source": str(path)} if in_memory else {"source": str(path), "cache": str(folder)}
    along, start = {"imported": memory()}, time.perf_counter()
    peak = Peak()
    peak.start()
    job = prepare(Settings(model=small, training=recipe, data=data, run={"backend": "numpy"}))
    prepared, of_preparing = time.perf_counter() - start, peak.end()
    along["prepared"] = memory()
    if steps:
        trainer = job.backend.trainer(job.backend.build(job.config, 0), **job.recipe.trainer_options())
        trainer.step(next(job.batches.epoch(0)))
    else:
        next(job.batches.epoch(0))
    first = time.perf_counter() - start
    along["first step" if steps else "first batch"] = memory()
    read, epochs = time.perf_counter(), itertools.count(1)
    batches = (batch for epoch in epochs for batch in job.batches.epoch(epoch))
    for number, _ in enumerate(itertools.islice(batches, BATCHES), start=1):
        if number % (BATCHES // PARTS) == 0:
            along[f"{number} batches"] = memory()
    print(json.dumps({
        "seconds_to_prepare": round(prepared, 2), "seconds_to_the_first_step": round(first, 2),
        "batches_per_second": round(number / (time.perf_counter() - read)), "peak_of_preparing_mib": of_preparing, "mib": along,
        "batches": len(job.batches), "shapes": len(job.batches.shapes),
        "padding_share": round(1 - job.batches.num_tokens / job.batches.num_positions, 3),
    }))  # fmt: skip


def measured(count, folder, in_memory):
    path, cache = folder / f"{count}.tsv", folder / f"{count}.cache"
    write_corpus(path, count)
    results = {"bytes": path.stat().st_size}
    starts = {"first start": False, "second start": False, **({"in memory": True} if in_memory else {})}
    for name, whole in starts.items():
        arguments = [str(path), str(cache), "steps" if count <= TRAINED else "read", "in_memory" if whole else "cached"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--worker", *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        results[name] = json.loads(done.stdout)
        print(f"{count:,} pairs, {name}: {results[name]}", flush=True)
    results["pairs_per_second"] = round(count / results["first start"]["seconds_to_prepare"])
    results["cache_bytes"] = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    return results


def main():
    parser = program(__doc__)
    parser.add_argument("--pairs", default="1000000,5000000")
    parser.add_argument("--folder", type=Path, help="where the corpora are written; else a temporary one")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        path, folder, steps, in_memory = options.worker
        worker(Path(path), Path(folder), steps == "steps", in_memory == "in_memory")
        return
    results = {}
    for count in map(int, options.pairs.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            results[str(count)] = measured(count, Path(folder), count <= TRAINED)
    job = {"words": WORDS, "lengths": [SHORTEST, LONGEST], "batch_tokens": TOKENS, "batches": BATCHES}
    keep(options.json, {"job": job, "machine": machine(), "results": results})


if __name__ == "__main__":
    main()
