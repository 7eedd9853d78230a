"""Contestants of one job, each in a process of its own, in turns: one round of the first, one of the second, and again."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
WARM_UP = 2
PAUSE = 0.3  # seconds: OpenMP's threads spin on for a fifth of one after their work, on the processors of whoever is next
AGREE = 1e-4  # of a loss: all of them compute in float32


class Disagreement(Exception):
    """Contestants that should compute the same do not."""


class Running:
    """A worker that is ready."""

    def __init__(self, python, folder, words):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, HERE.parents[:2])), "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # both sides are in a GPU's memory
        environment.pop("XLA_FLAGS", None)
        self.words, self.errors = words, Path(folder) / "errors.txt"
        self.process = subprocess.Popen(
            [python, "-m", "speed.worker", folder, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors.open("w"), text=True, env=environment,
        )  # fmt: skip
        try:
            described = self._answer()
        except RuntimeError:
            self.close()
            raise
        self.version, self.computes = described["version"], described["computes"]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            ends = self.errors.read_text().strip().splitlines()[-1:]
            raise RuntimeError(f"{' '.join(self.words)} ended: {' '.join(ends)}")
        return json.loads(line)

    def round(self):
        self.process.stdin.write("round\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        self.process.kill()
        self.process.wait()


def race(folder, contestants, seconds):
    """Rounds in turns until about so many seconds have gone; at least five of each.

    ``contestants``: pairs of an interpreter and words; the last is the peer. Returns a dictionary for each: version, median and
    spread of tokens per second, memory, and the ratio to the peer, taken round by round.
    """
    with ExitStack() as stack:
        running = []
        for python, words in contestants:
            one = Running(python, folder, words)
            stack.callback(one.close)
            running.append(one)
        check([one.computes for one in running])
        rounds = [[] for _ in running]
        while len(rounds[0]) < WARM_UP + 5 or sum(took for each in rounds for took, *_ in each[WARM_UP:]) < seconds:
            for one, done in zip(running, rounds, strict=True):
                done.append(one.round())
                time.sleep(PAUSE)
    speeds = [[units / took for took, units, _ in each[WARM_UP:]] for each in rounds]
    memory = [each[-1][2] for each in rounds]
    return [
        {"version": one.version, "first_round_s": round(each[0][0], 3), "memory_MiB": round(most), **spread(speed, speeds[-1])}
        for one, each, speed, most in zip(running, rounds, speeds, memory, strict=True)
    ]


def spread(speeds, peers):
    ratios = [speed / peer for speed, peer in zip(speeds, peers, strict=True)]
    return {
        "rounds": len(speeds),
        "tokens_per_s": [round(figure, 1) for figure in (statistics.median(speeds), min(speeds), max(speeds))],
        "ratio": [round(figure, 3) for figure in (statistics.median(ratios), min(ratios), max(ratios))],
    }


def check(computed):
    """Losses agree to ``AGREE``; tokens and texts are the same. None says nothing: a format of its own answers by itself."""
    first, *others = [one for one in computed if one is not None] or [None]
    for other in others:
        agrees = abs(first - other) <= AGREE * abs(first) if isinstance(first, float) else first == other
        if not agrees:
            raise Disagreement(f"They compute different things: {str(first)[:200]} and {str(other)[:200]}")
