"""A contestant in a process of its own: says that it is ready, then does what each line of its input asks for, in JSON.

    python -m speed.worker FOLDER CONTESTANT [WORD=VALUE ...]

The first line of its output is a JSON object: the version, and what it computes (a loss, or tokens). Each later line answers:
``["round"]`` by seconds, units of work, and the largest memory so far in MiB; ``["margins", ...]`` as the contestant does.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

from .inputs import Inputs


def main():
    channel, sys.stdout = sys.stdout, sys.stderr  # what frameworks print is no answer
    folder, name, *words = sys.argv[1:]
    options = dict(word.split("=", 1) for word in words)
    contestant = importlib.import_module(f".contestants.{name}", __package__).Contestant(Inputs(folder), **options)
    tell(channel, {"version": contestant.version, "computes": contestant.check()})
    for line in sys.stdin:
        request, *arguments = json.loads(line)
        if request == "margins":
            tell(channel, contestant.margins(*arguments))
            continue
        start = time.perf_counter()
        units = contestant.round()
        seconds = time.perf_counter() - start
        tell(channel, [seconds, units, memory()])


def memory():
    """The most this process has had in memory, in MiB: a GPU's, where it computes on one. ``ru_maxrss`` begins with what the
    process that started it had."""
    torch, jax = map(sys.modules.get, ("torch", "jax"))
    of_gpu = [torch.cuda.max_memory_allocated()] if torch is not None and torch.cuda.is_initialized() else []
    if jax is not None:
        of_gpu += [(device.memory_stats() or {}).get("peak_bytes_in_use", 0) for device in jax.local_devices()]
    if any(of_gpu):
        return max(of_gpu) / 2**20
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def tell(channel, value):
    print(json.dumps(value), file=channel, flush=True)


if __name__ == "__main__":
    main()
