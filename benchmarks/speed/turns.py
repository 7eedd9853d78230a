"""Contestants of one job, each in a process of its own, in turns: one round of the first, one of the second, and again."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
WARM_UP = 2
PAUSE = 0.3  # seconds: OpenMP's threads spin on for a fifth of one after their work, on the processors of the next contestant
AGREE = 1e-4  # of a loss, or of the largest logit: all of them compute in float32


class Disagreement(Exception):
    """Contestants that should compute the same do not."""


class Running:
    """A worker, which is ready after ``ready()``: several begin at once, and take seconds to import what they need."""

    def __init__(self, python, folder, words, number, checkout=HERE.parents[1]):
        path = os.pathsep.join([str(checkout / "benchmarks"), str(checkout)])
        environment = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # both sides are in a GPU's memory
        environment.pop("XLA_FLAGS", None)
        self.words, self.errors = words, Path(folder) / f"errors{number}.txt"
        self.process = subprocess.Popen(
            [python, "-m", "speed.worker", folder, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors.open("w"), text=True, env=environment,
            cwd=checkout,  # which ``-m`` puts before PYTHONPATH
        )  # fmt: skip

    def ready(self):
        described = self._answer()
        self.version, self.computes = described["version"], described["computes"]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            ends = self.errors.read_text().strip().splitlines()[-1:]
            raise RuntimeError(f"{' '.join(self.words)} ended: {' '.join(ends)}")
        return json.loads(line)

    def round(self):
        return self._asked(["round"])

    def margins(self, parted):
        return self._asked(["margins", parted])

    def _asked(self, request):
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self):
        self.process.kill()
        self.process.wait()


def race(folder, contestants, seconds, pause=PAUSE, longest=None):
    """Rounds in turns until about ``seconds`` have gone; at least five of each. After ``longest`` seconds it has failed.

    ``contestants``: an interpreter, words, and the checkout if it is another one; the last is the peer. Returns a dictionary
    for each: version, median and spread of tokens per second, memory, and the ratio to the peer, taken round by round; and
    where tokens part, of the others, the share of the peer's that theirs equal.
    """
    with ExitStack() as stack:
        running = []
        for number, (python, words, *checkout) in enumerate(contestants):
            one = Running(python, folder, words, number, *checkout)
            stack.callback(one.close)
            running.append(one)
        if longest is not None:
            end = threading.Timer(longest, stop, (running, longest))
            stack.callback(end.cancel)
            end.start()
        for one in running:
            one.ready()
        equal = [check(one, running[-1]) for one in running]
        rounds = [[] for _ in running]
        while len(rounds[0]) < WARM_UP + 5 or sum(took for each in rounds for took, *_ in each[WARM_UP:]) < seconds:
            for one, done in zip(running, rounds, strict=True):
                done.append(one.round())
                time.sleep(pause)
    speeds = [[units / took for took, units, _ in each[WARM_UP:]] for each in rounds]
    memory = [each[-1][2] for each in rounds]
    return [
        {
            "version": one.version,
            "first_round_s": round(each[0][0], 3),
            "memory_MiB": round(most),
            **same,
            **spread(speed, speeds[-1]),
        }
        for one, each, speed, most, same in zip(running, rounds, speeds, memory, equal, strict=True)
    ]


def stop(running, longest):
    for one in running:
        with one.errors.open("a") as file:
            file.write(f"\nA row must take at most {longest:g} seconds.\n")
        one.process.kill()


def spread(speeds, peers):
    ratios = [speed / peer for speed, peer in zip(speeds, peers, strict=True)]
    return {
        "rounds": len(speeds),
        "tokens_per_s": [round(figure, 1) for figure in (statistics.median(speeds), min(speeds), max(speeds))],
        "ratio": [round(figure, 3) for figure in (statistics.median(ratios), min(ratios), max(ratios))],
    }


def check(one, peer):
    """Losses agree to ``AGREE``; texts are the same, and tokens up to a near-tie: after it each side goes its own way.

    None says nothing: a format of its own answers by itself. Returns ``{"equal_tokens": share}`` where tokens part.
    """
    ours, theirs = one.computes, peer.computes
    if ours is None or theirs is None or ours == theirs:
        return {}
    if isinstance(ours, float) and abs(ours - theirs) <= AGREE * abs(ours):
        return {}
    parted = where_they_part(ours, theirs) if are_tokens(ours) and are_tokens(theirs) else []
    margins = one.margins(parted) if parted else []
    if not parted or not all(margin <= AGREE for margin in margins):
        raise Disagreement(f"They compute different things: {str(ours)[:200]} and {str(theirs)[:200]}, margins {margins}")
    pairs = [pair for rows in zip(ours, theirs, strict=True) for pair in zip(*rows, strict=True)]
    return {"equal_tokens": round(sum(left == right for left, right in pairs) / len(pairs), 4)}


def are_tokens(computed):
    return isinstance(computed, list) and all(isinstance(row, list) for row in computed)


def where_they_part(ours, theirs):
    """Row, step and the other side's token where each row first differs; none where lengths do."""
    if list(map(len, ours)) != list(map(len, theirs)):
        return []
    first = (
        next(((row, step, right) for step, (left, right) in enumerate(zip(*rows, strict=True)) if left != right), None)
        for row, rows in enumerate(zip(ours, theirs, strict=True))
    )
    return [one for one in first if one is not None]
