"""Commands that train in two processes, and what is looked at while they run."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from distributed.group import QUICKLY, ended, start
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.parity.verdict.limits import worst

SMALL = "--epochs 3 --batch-size 15 --num-hiddens 8 --ffn-num-hiddens 12 --num-heads 2 --num-layers 1 --dropout 0"
ENDLESS = SMALL.replace("--epochs 3", "--epochs 1000000 --save-every 1000000 --save-every-steps 20")
ENDS_WITHIN = 60  # seconds


def command(data, out, options=SMALL, backend="numpy"):
    return ["-m", "transformer_mb", "train", "--data", data, "--out", out, "--backend", backend, *options.split()]


def environment(**more):
    clean = {
        name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    }
    return {"XLA_FLAGS": QUICKLY, **clean, "OMP_NUM_THREADS": "1", **more}


def done(arguments, **more):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment(**more), capture_output=True, text=True, timeout=600
    )


def apart(folder, other):
    one, two = read_checkpoint(folder), read_checkpoint(other)
    tensors = {**one.weights, **one.optimizer}
    others = {**two.weights, **two.optimizer}
    assert tensors.keys() == others.keys()
    scales = {key: np.abs(tensor).max(initial=1e-30) for key, tensor in tensors.items()}
    return worst(float(np.abs(tensors[key] - others[key]).max() / scales[key]) for key in tensors)


def children(process):
    return [int(child) for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def rank_of(child):
    pairs = dict(pair.split(b"=", 1) for pair in Path(f"/proc/{child}/environ").read_bytes().split(b"\0") if b"=" in pair)
    return int(pairs[b"RANK"])


def saved(folder, process, patience=600):
    """Wait for the first checkpoint of a training that runs."""
    end = time.monotonic() + patience
    while not (folder / "trainer.json").is_file():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(numbers):
    def running(number):
        try:
            return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return [number for number in numbers if running(number)]


class Running:
    """A training that has saved: its process, the processes of its ranks, and what it has said once it has ended."""

    def __init__(self, process):
        self.process, self.ranks = process, {rank_of(child): child for child in children(process)}

    def ended(self):
        """The exit status and what was said on both streams, within the time that an end may take; no rank may be left."""
        (said,) = ended([self.process], ENDS_WITHIN)
        assert not alive(self.ranks.values()), said
        return self.process.returncode, *said


@contextmanager
def running(folder, arguments, **more):
    """Start a command that trains into a folder, and end it after the block if it has not ended."""
    process = start(arguments, environment(**more))
    try:
        saved(folder, process)
        yield Running(process)
    finally:
        ended([process], 0.1)


def endless(data, folder, backend="numpy"):
    return [*command(data, folder, ENDLESS, backend), "--processes", 2]
