"""Several processes on this machine that train one model: started, watched and ended together.

Nothing is tried again, and nothing crosses to another machine: that is the work of torchrun, Slurm or Kubernetes.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from time import monotonic, sleep
from types import FrameType
from typing import IO, Any

from ..distributed.place import ADDRESS, PORT
from ..processes.ending import ending
from ..processes.parent import end_with_parent
from .interruption import ENDINGS

LOOPBACK = "127.0.0.1"
# Seconds in which processes that have lost another one may end by themselves; then they are told to, and then they are killed.
GRACE = 10.0
LOOK_EVERY = 0.05


def launch(arguments: Sequence[str], size: int) -> tuple[int, str]:
    """Run ``transformer-mb`` with these arguments as ``size`` processes, rank 0 with this one's standard streams.

    Returns: an exit status, and in words which process failed first; 0 and "" where none did. A signal that ends trainings
    goes on to all of them.
    """
    with ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(size - 1)]
        running = stack.enter_context(_passing_on())
        port = _free_port()
        # Not in the terminal's group of processes, or Ctrl-C would reach each of them twice.
        options: dict[str, Any] = {"start_new_session": True, "preexec_fn": partial(end_with_parent, os.getpid())}
        shown = {"stderr": sys.stderr}  # file descriptor 2 may lead nowhere, for what frameworks write there
        command = [sys.executable, "-m", "transformer_mb", *arguments]
        for rank in range(size):
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": streams[rank - 1]} if rank else shown
            environment = {**os.environ, **_variables(rank, size, port)}
            running.append(subprocess.Popen(command, env=environment, **quiet, **options))
        first, killed = _first_failure(running)
        if first is None:
            return 0, ""
        status = running[first].returncode
        still = "".join(f" Rank {rank} of {size} stood still, and was killed." for rank in killed)
        if first == 0 and status > 0:  # it has spoken for itself
            return status, still.strip()
        last = _text(streams[first - 1]) if first else ""
        return (status if status > 0 else 1), f"Rank {first} of {size} {ending(status, last)}.{still}"


def _variables(rank: int, size: int, port: int) -> dict[str, str]:
    """As torchrun names them. Threads are shared out, and gloo keeps to this machine."""
    threads = str(max(1, (os.cpu_count() or 1) // size))
    return {
        **{"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), ADDRESS: LOOPBACK, PORT: str(port)},
        **{"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads)},
    }


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def _passing_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Inside, a signal that ends trainings goes to the processes in the list; none of them is left afterwards."""
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        for process in running:
            if process.poll() is None:
                process.send_signal(number)

    before = {one: signal.signal(one, pass_on) for one in ENDINGS if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
        for one, handler in before.items():
            signal.signal(one, handler)


def _first_failure(running: Sequence[subprocess.Popen[bytes]]) -> tuple[int | None, list[int]]:
    """Wait for all: the rank that failed first, the others being ended some time after it, and those that had to be killed."""
    first: int | None = None
    killed: set[int] = set()
    failed = 0.0
    while any(process.poll() is None for process in running):
        if first is None and (wrong := [rank for rank, process in enumerate(running) if process.returncode]):
            first, failed = _cause(running, wrong), monotonic()
        waited = monotonic() - failed
        if first is not None and waited > GRACE:
            for rank, process in enumerate(running):
                if process.poll() is None and waited > 2 * GRACE:
                    process.kill()
                    killed.add(rank)
                elif process.poll() is None:
                    process.terminate()
        sleep(LOOK_EVERY)
    if first is None:
        first = _cause(running, [rank for rank, process in enumerate(running) if process.returncode])
    # A wrong call, and a signal, are the same for all, and rank 0 has told of it. With status 1 one may have lost another.
    if first is not None and running[0].returncode == running[first].returncode > 1:
        first = 0
    return first, sorted(killed)


def _cause(running: Sequence[subprocess.Popen[bytes]], failed: Sequence[int]) -> int | None:
    """Of processes that failed between two looks, one that a signal ended: others may have lost it. Rank 0 tells it itself."""
    return min(failed, key=lambda rank: (running[rank].returncode > 0, rank == 0), default=None)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")
