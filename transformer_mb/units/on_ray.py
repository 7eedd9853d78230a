"""The engine that has Ray place units of work: on this machine, or on the nodes of a cluster.

Ray moves a request to a node and an answer back, and says when a node is lost. What is tried again, and what is whole, is
decided by ``running.py`` as for any engine: Ray's own retries do not tell their number, and those of a process that took too
much memory have no end (ray's ``task_oom_retries``).
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import KilledError, UnitsError, WorkerError
from ..extras import install_command
from .running import Answering, Engine
from .unit import Answer, Unit

POLL = 2.0  # seconds between two looks at the nodes
PATIENCE = 60.0  # seconds without any node that could run a unit, after which nobody waits for one
NAMED = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
LONGEST_PLACE = 30  # characters of the folder of temporary files
ASKS_FOR_A_TOKEN = 77
ASKED_WITHIN = 60.0  # seconds for a cluster to turn a user away
# Exits with that status where the head of a cluster turns away who comes without a token, with 0 where it answers.
WITHOUT_TOKEN = f"""
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1]).internal_kv_get(b"", b"", timeout=10)
except AuthenticationError:
    sys.exit({ASKS_FOR_A_TOKEN})
"""


@contextmanager
def on_ray(
    answer: Answering,
    address: str | None = None,
    needs: Mapping[str, float] | None = None,
    jobs: int | None = None,
    without_token: bool = False,
) -> Iterator[Engine]:
    """A context: Ray is left, and what it still runs is ended, with the block.

    Args:
        answer: what a node does with a unit's request.
        address: of a running cluster, ``HOST:PORT`` or ``auto``; None starts one on this machine, which listens on the
            loopback alone and asks for a token that only its own processes know.
        needs: by resource, what a unit needs of its node besides CPUs: ``GPU``, ``memory`` in bytes, or a cluster's own.
        jobs: CPUs of a unit; None: what it can use, and no more than the largest node has.
        without_token: take a cluster that asks for no token.
    Raises: UnitsError when Ray is not installed, a cluster cannot be reached or asks for no token, or no node of it has
        what a unit needs.
    """
    ray = _imported(address)
    with _session_folder() as folder:
        try:
            with same_handler():
                _connect(ray, address, without_token, folder)
            needed = dict(needs or {})
            yield lambda units: _run(ray, units, needed, jobs, answer)
        finally:
            ray.shutdown()


@contextmanager
def _session_folder() -> Iterator[str]:
    """A place for a Ray of our own, whose sockets, logs and environments it leaves open to every user of the machine.

    Its name is short, since that of a socket has at most 107 characters.
    """
    place = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="tmb-", dir=place if len(place) <= LONGEST_PLACE else "/tmp")  # of mode 0700
    try:
        yield os.path.join(folder, "r")  # which Ray makes, for everybody to write into
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def same_handler() -> Iterator[None]:
    """Ray answers SIGTERM by itself from its start on, with status 15; who started it has an answer already."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _imported(address: str | None) -> Any:
    """Ray reads these variables when it is imported, and the processes that it starts inherit them."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address is None:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else Ray would write one to the home folder
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # all of Ray on the loopback, on any system
        os.environ.setdefault("RAY_worker_niceness", "0")  # else 15: beside other work its runs would pass their timeouts
    try:
        import ray
    except ImportError:
        raise UnitsError(f"--on ray needs Ray, which is not installed. Install it with: {install_command('sweep')}.") from None
    return ray


def _connect(ray: Any, address: str | None, without_token: bool, folder: str) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        try:
            ray.init(address="local", include_dashboard=False, _temp_dir=folder, **quiet)
        except Exception as error:  # Ray raises a bare one where a busy machine takes it more than half a minute
            raise WorkerError(f"Ray could not be started on this machine: {error}") from None
        host = ray.nodes()[0]["NodeManagerAddress"]
        if not ipaddress.ip_address(host).is_loopback:
            raise UnitsError(f"A Ray of our own must listen on the loopback alone, got {host}: was ray imported before?")
        return
    if address.startswith("ray://"):
        raise UnitsError(f"--address must be HOST:PORT of a cluster of which this machine is a node, or auto, got {address}.")
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise UnitsError(f"--address must be a Ray cluster, got {address}: {error}") from None
    if not without_token:
        _check_token(ray.get_runtime_context().gcs_address)


def _check_token(address: str) -> None:
    """Refuse, with UnitsError, a cluster on which everyone who reaches it can run any program."""
    command = [sys.executable, "-c", WITHOUT_TOKEN, address]
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=ASKED_WITHIN)
    except subprocess.TimeoutExpired:
        found = f"no answer within {ASKED_WITHIN:g} seconds"
    else:
        if done.returncode == ASKS_FOR_A_TOKEN:
            return
        found = "one that asks for none" if done.returncode == 0 else f"no answer: {done.stderr.strip()[-300:]}"
    raise UnitsError(
        f"A Ray cluster must ask for a token (RAY_AUTH_MODE=token on all its nodes), got {found} at {address}: whoever reaches "
        "such a cluster runs any program on it. --without-token takes it all the same."
    )


def _run(
    ray: Any, units: Sequence[Unit], needs: dict[str, float], jobs: int | None, answer: Answering
) -> Iterator[tuple[Unit, Answer]]:
    """Yield each unit with its answer as it comes; a lost one with a KilledError.

    What still runs when nobody asks for more ends with ``on_ray``: ray.cancel(force=True) aborts this process where an answer
    comes at the same moment.
    """
    if units and "CPU" not in needs:  # the first of several rounds
        needs["CPU"] = float(jobs or _cpus(ray, units[0]))
        if not _places(ray, needs):
            raise UnitsError(_unmet(ray, needs))
    own = {name: amount for name, amount in needs.items() if name not in NAMED}
    named = {NAMED[name]: amount for name, amount in needs.items() if name in NAMED}
    task = ray.remote(answer).options(resources=own, max_retries=0, **named)
    waiting, running = deque(units), dict[Any, Unit]()
    useless: float | None = None  # since when no node has had what a unit needs
    while waiting or running:
        places = _places(ray, needs)
        while waiting and len(running) < 2 * places:  # so that none is idle, and the requests of many wait here
            unit = waiting.popleft()
            running[task.remote(unit.request, int(needs["CPU"]))] = unit
        if not running:
            time.sleep(POLL)
        done = ray.wait(list(running), timeout=POLL)[0] if running else []
        for reference in done:
            yield running.pop(reference), _answer(ray, reference)
        useless = None if places or done else useless or time.monotonic()
        if useless is not None and time.monotonic() - useless > PATIENCE:
            error = WorkerError(_unmet(ray, needs))
            for unit in (*running.values(), *waiting):
                yield unit, error
            return


def _answer(ray: Any, reference: Any) -> Answer:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # our own code failed there, or is not there
        return WorkerError(f"A node could not run it: {str(error).strip().splitlines()[-1]}")
    except ray.exceptions.RayError as error:  # the process, the node or its answer is gone
        return KilledError(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")


def _nodes(ray: Any) -> list[dict[str, float]]:
    """Return the resources of each node that is alive."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _cpus(ray: Any, unit: Unit) -> int:
    return max(1, min(unit.cpus, max(int(node.get("CPU", 0)) for node in _nodes(ray))))


def _places(ray: Any, needs: Mapping[str, float]) -> int:
    """Return how many units can run at the same time."""
    return sum(int(min(node.get(name, 0.0) / amount for name, amount in needs.items())) for node in _nodes(ray))


def _unmet(ray: Any, needs: Mapping[str, float]) -> str:
    hidden = ("node:", "object_store_memory")  # Ray's own
    have = [{name: amount for name, amount in node.items() if not name.startswith(hidden)} for node in _nodes(ray)]
    wanted = ", ".join(f"{name}={amount:g}" for name, amount in needs.items())
    got = "; ".join(", ".join(f"{name}={amount:g}" for name, amount in sorted(node.items())) for node in have)
    return f"A node of the cluster must have what a unit needs, {wanted}, got nodes with {got or 'nothing: none is alive'}."
