"""Worker processes: one backend each, started through execnet, watched, and ended."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import execnet

from ..errors import WorkerError
from .messages import Request, unpack_arrays
from .worker import source_digest

PATIENCE = 300.0  # seconds for one request; the slowest takes ten here
LAST_LINES = 8
# NVIDIA's libraries obey the first whatever a framework asks for; a second thread costs small arrays more than it brings.
SETTINGS = {"NVIDIA_TF32_OVERRIDE": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# Runs in the new process before anything is imported: its standard error goes to a file, where even a crash leaves it.
START = """
import os, sys
errors, backend, device, settings = channel.receive()
os.environ.update(settings)
if errors:
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
sys.path[:] = [entry for entry in sys.path if entry]
from transformer_mb.parity.worker import serve
serve(channel, backend, device)
"""


@dataclass(frozen=True)
class WorkerSpec:
    """Which backend, where.

    Args:
        label: the column's name, ``torch`` or ``torch@old``: what stands before the @ is the backend.
        python: another interpreter; ssh: another host, as execnet's ``ssh=`` takes it.
        device: as the framework names it; None is its default.
    """

    label: str
    python: str | None = None
    ssh: str | None = None
    device: str | None = None

    @property
    def backend(self) -> str:
        return self.label.partition("@")[0]

    def gateway(self, folder: Path) -> str:
        """As execnet reads it."""
        where = f"ssh={self.ssh}" if self.ssh else "popen"
        python = self.python or (None if self.ssh else sys.executable)
        parts = [where, f"id={self.label}", *([f"python={python}"] if python else [])]
        return "//".join(parts if self.ssh else [*parts, f"chdir={folder}"])


class Worker:
    """A process that computes for one backend; every way in which it can fail is a WorkerError with the reason."""

    def __init__(self, spec: WorkerSpec, folder: Path, patience: float = PATIENCE):
        self.spec = spec
        self.patience = patience
        self.errors = None if spec.ssh else folder / f"{spec.label}.stderr"
        self.dead: str | None = None
        started_in = folder / spec.label
        started_in.mkdir(parents=True)
        self.group = execnet.Group()
        try:
            self.gateway = self.group.makegateway(spec.gateway(started_in))
            self.channel = self.gateway.remote_exec(START)
            self.channel.send((self.errors and str(self.errors), spec.backend, spec.device, SETTINGS))
        except Exception as error:  # execnet's own errors share no base class
            raise WorkerError(f"The worker of {spec.label} could not be started: {error}.") from None
        try:
            self.greeting = self._greeting()
        except WorkerError:
            self.stop()
            raise

    def _greeting(self) -> dict[str, Any]:
        greeting = json.loads(self._receive()[0])
        if greeting["digest"] != source_digest():
            raise WorkerError(
                f"The worker of {self.spec.label} holds another transformer_mb than this process: {self._install()}"
            )
        return greeting

    def _install(self) -> str:
        source = Path(__file__).parents[2]
        return (
            f"install it with `{self.spec.python or sys.executable} -m pip install --editable '{source}[{self.spec.backend}]'`."
        )

    def ask(self, request: Request) -> dict[str, Any]:
        """The arrays that the backend computes. Raises WorkerError when it cannot, or has died."""
        if self.dead:
            raise WorkerError(self.dead)
        try:
            self.channel.send(request.pack())
        except OSError:
            self._fail(self._ending())
        text, data = self._receive()
        if text:
            raise WorkerError(f"{self.spec.label} raised {text}")
        return unpack_arrays(data)

    def _receive(self) -> tuple[str, bytes]:
        try:
            return self.channel.receive(self.patience)
        except self.channel.TimeoutError:
            self.kill()
            self._fail(f"did not answer within {self.patience:g} s and was ended")
        except EOFError:
            self._fail(self._ending())
        except self.channel.RemoteError as error:
            self._fail(self._refusal(str(error)))
        raise AssertionError("unreachable")

    def _fail(self, what: str) -> None:
        last = self._last_lines()
        self.dead = f"The worker of {self.spec.label} {what}.{f' Its last words: {last}' if last else ''}"
        raise WorkerError(self.dead)

    def _refusal(self, remote_traceback: str) -> str:
        last = remote_traceback.strip().splitlines()[-1]
        missing = "No module named 'transformer_mb" in last
        return (
            f"holds no transformer_mb for its parity worker; {self._install().rstrip('.')}"
            if missing
            else f"could not begin: {last}"
        )

    def _process(self) -> Any:
        """execnet keeps the process to itself, and its exit status with it."""
        return getattr(self.gateway._io, "popen", None)

    def kill(self) -> None:
        if process := self._process():
            process.kill()

    def _ending(self) -> str:
        process = self._process()
        status = None if process is None else process.wait(10)
        if status is None or status == 0:
            return "ended"
        if status < 0:
            number = -status
            known = number in {member.value for member in signal.Signals}
            return f"was ended by signal {signal.Signals(number).name if known else number}"
        return f"ended with status {status}"

    def _last_lines(self) -> str:
        if self.errors is None:
            return ""
        try:
            lines = self.errors.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return " | ".join(line.strip() for line in lines[-LAST_LINES:])

    def stop(self) -> None:
        self.group.terminate(timeout=2.0)
