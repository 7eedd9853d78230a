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
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from math import inf
from time import monotonic, sleep
from types import FrameType
from typing import IO, Any

from ..columns.ending import FROM_OUTSIDE, ending
from ..columns.inside import end_with_parent
from ..distributed.place import ADDRESS, PORT, timeout_of
from .interruption import ENDINGS, SAME_REQUEST

LOOPBACK = "127.0.0.1"
# Seconds in which processes that have lost another one may end by themselves; then they get a signal, and then they are killed.
GRACE = 10.0
LOOK_EVERY = 0.05
# Seconds for which a crash is no cause yet: MPI aborts a process that has lost another, before that one is seen to have ended.
SETTLED = 0.5


def launch(arguments: Sequence[str], size: int) -> tuple[int, str]:
    """Run ``transformer-mb`` with these arguments as ``size`` processes, rank 0 with this one's standard streams.

    Returns: an exit status, and in words which process failed first; 0 and "" where none did. A signal that ends trainings
    goes on to all of them. Raises DistributedError for a time in the environment that is none.
    """
    timeout = timeout_of(os.environ)
    with ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(size - 1)]
        signals, running = stack.enter_context(_noted()), stack.enter_context(_none_left())
        port = _free_port()
        # Not in the terminal's group of processes, or Ctrl-C would reach each of them twice.
        options: dict[str, Any] = {"start_new_session": True, "preexec_fn": partial(end_with_parent, os.getpid())}
        shown = {"stderr": sys.stderr}  # file descriptor 2 may lead nowhere, for what frameworks write there
        command = [sys.executable, "-m", "transformer_mb", *arguments]
        for rank in range(size):
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": streams[rank - 1]} if rank else shown
            environment = {**os.environ, **_variables(rank, size, port)}
            running.append(subprocess.Popen(command, env=environment, **quiet, **options))
        first, killed = _first_failure(running, signals, timeout)
        if first is None:
            return 0, ""
        status = running[first].returncode
        if signals and status == -signals[0]:  # before there was anything to save, as one process alone ends
            return 128 + signals[0], ""
        still = "".join(f" Rank {rank} of {size} stood still, and was killed." for rank in killed)
        if first == 0 and status > 0:  # it has spoken for itself
            return status, still.strip()
        last = _text(streams[first - 1]) if first else ""
        return (status if status > 0 else 1), f"Rank {first} of {size} {ending(status, last).removesuffix('.')}.{still}"


def _variables(rank: int, size: int, port: int) -> dict[str, str]:
    """Return the variables as torchrun names them. Threads are shared out, and gloo and MPICH's UCX keep to this machine."""
    threads = str(max(1, (os.cpu_count() or 1) // size))
    return {
        **{"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), ADDRESS: LOOPBACK, PORT: str(port)},
        **{"GLOO_SOCKET_IFNAME": "lo", "UCX_NET_DEVICES": "lo"},
        **{"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", threads)},
    }


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def _noted() -> Iterator[list[int]]:
    """Inside, signals that end trainings come into the list, for the ranks to get."""
    signals: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    before = {one: signal.signal(one, note) for one in ENDINGS if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield signals
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _none_left() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Kill, at the end of the block, the processes in the list, and what they have started themselves."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        yield running
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in running:
            with suppress(subprocess.TimeoutExpired):  # one that waits for a file system ends when that answers
                process.wait(GRACE)


def _first_failure(
    running: Sequence[subprocess.Popen[bytes]], signals: Sequence[int], timeout: float
) -> tuple[int | None, list[int]]:
    """Wait for all: the rank that failed first, the others being ended some time after it, and those that had to be killed.

    So are those that are left ``timeout`` seconds after rank 0 has done everything, or after a signal, and soon after a
    second signal: who has begun to wait inside a framework hears of none.
    """
    first: int | None = None
    killed: set[int] = set()
    told, since, deadline, finished, crashed = 0, 0.0, inf, False, inf
    while left := [process for process in running if process.poll() is None]:
        now = monotonic()
        if told < len(signals):
            for process in left:
                process.send_signal(signals[told])
                process.send_signal(signal.SIGCONT)  # one that was stopped has to go on to hear it
            again = told > 0 and now - since > SAME_REQUEST
            deadline = min(deadline, now + (GRACE if again else timeout))
            told, since = told + 1, since or now
        if first is None and (wrong := [rank for rank, process in enumerate(running) if process.returncode]):
            crashed = min(crashed, now)
            if now - crashed >= SETTLED or not all(_crashed(running[rank]) for rank in wrong):
                first, deadline = _cause(running, wrong), min(deadline, now + GRACE)
        if not finished and running[0].returncode == 0:
            finished, deadline = True, min(deadline, now + timeout)
        for rank, process in enumerate(running):
            if process.returncode is None and now > deadline + GRACE:
                process.kill()
                killed.add(rank)
            elif process.returncode is None and now > deadline:
                process.terminate()
        sleep(LOOK_EVERY)
    if first is None:
        first = _cause(running, [rank for rank, process in enumerate(running) if process.returncode])
    # A wrong call, and a signal, are the same for all, and rank 0 has reported it. With status 1 one may have lost another.
    if first is not None and running[0].returncode == running[first].returncode > 1:
        first = 0
    return first, sorted(killed)


def _cause(running: Sequence[subprocess.Popen[bytes]], failed: Sequence[int]) -> int | None:
    """Pick of ranks that ``failed`` between two looks one ended from outside, else by a crash: others may have lost it.

    Rank 0 tells it itself.
    """

    def order(rank: int) -> tuple[bool, bool, bool]:
        status = running[rank].returncode
        return -status not in FROM_OUTSIDE, status > 0, rank == 0

    return min(failed, key=order, default=None)


def _crashed(process: subprocess.Popen[bytes]) -> bool:
    return process.returncode < 0 and -process.returncode not in FROM_OUTSIDE


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")
