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

from .disturbance import Watch
from .interval import interval

HERE = Path(__file__).parent
WARM_UP = 2
LEAST = 5  # turns
LONGER = 3  # times as long, at most, goes on what is repeated since something disturbed it
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

    A turn during which something else used the processors is set aside and repeated, until ``LONGER`` times as much has gone.

    ``contestants``: an interpreter, words, and the checkout if it is another one; the last is the peer. Returns a dictionary
    for each: version, median and spread of tokens per second, memory, and the ratio to the peer, taken round by round; and
    where tokens part, of the others, the share of the peer's that theirs equal. And a dictionary of what disturbed them.
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
        watch = Watch([one.process.pid for one in running])
        first, *_ = [turn(running, pause) for _ in range(WARM_UP)]
        watch.lost()
        turns = []
        while wanted(turns, seconds):
            taken = turn(running, pause)
            turns.append((taken, watch.lost()))
    kept, disturbed = quietest(turns)
    rounds = list(zip(*kept, strict=True))
    speeds = [[units / took for took, units, _ in each] for each in rounds]
    memory = [max(taken[number][2] for taken, _ in turns) for number in range(len(running))]
    measured = [
        {
            "version": one.version,
            "first_round_s": round(began[0], 3),
            "memory_MiB": round(most),
            **same,
            **spread(speed, speeds[-1]),
        }
        for one, began, speed, most, same in zip(running, first, speeds, memory, equal, strict=True)
    ]
    return measured, disturbed


def turn(running, pause):
    """Let each do a round; returns their seconds, units of work and MiB."""
    done = []
    for one in running:
        done.append(one.round())
        time.sleep(pause)
    return done


def wanted(turns, seconds):
    """Tell whether another turn is needed; a turn is its rounds, and what was lost meanwhile (None: nobody knows)."""

    def short(some, times):
        return len(some) < LEAST * times or sum(took for taken, _ in some for took, *_ in taken) < seconds * times

    return short([one for one in turns if not disturbs(one[1])], 1) and short(turns, LONGER)


def disturbs(lost):
    return lost is not None and lost.disturbed


def quietest(turns):
    """Return the turns that nothing disturbed, or if they are fewer than ``LEAST`` the least disturbed, and what is told of it.

    They are chosen by what was lost, and never by how fast they were.
    """
    known = [lost for _, lost in turns if lost is not None]
    told = {
        "turns": len(turns),
        "watched": len(known) == len(turns),
        "disturbed": sum(map(disturbs, known)),
        "most": {name: max((getattr(lost, name) for lost in known), default=0.0) for name in ("others", "stolen")},
        "load": round(os.getloadavg()[0], 2),
    }
    kept = [turn for turn in turns if not disturbs(turn[1])]
    if len(kept) < LEAST:
        kept = sorted(turns, key=lambda one: sum(one[1] or (0.0, 0.0)))[:LEAST]
    told["kept_disturbed"] = sum(disturbs(lost) for _, lost in kept)
    return [taken for taken, _ in kept], told


def stop(running, longest):
    for one in running:
        with one.errors.open("a") as file:
            file.write(f"\nA row must take at most {longest:g} seconds.\n")
        one.process.kill()


def spread(speeds, peers):
    speeds, peers = ([round(speed, 1) for speed in each] for each in (speeds, peers))
    ratios = [speed / peer for speed, peer in zip(speeds, peers, strict=True)]
    figures = {"tokens_per_s": (speeds, 1), "ratio": (ratios, 3)}
    return {
        "rounds": len(speeds),
        **{name: rounded((statistics.median(each), min(each), max(each)), digits) for name, (each, digits) in figures.items()},
        "intervals": {name: rounded(interval(each), digits) for name, (each, digits) in figures.items()},
        "each_tokens_per_s": speeds,
    }


def rounded(figures, digits):
    return [round(figure, digits) for figure in figures]


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
