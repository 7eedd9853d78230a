"""Worker processes: one backend each, started through execnet, watched, and ended."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import execnet

from ..errors import ParityError, WorkerError
from ..processes.environment import SETTINGS
from ..registry import EVERY_DTYPE
from .computing.messages import Request, unpack_arrays
from .computing.worker import source_digest

PATIENCE = 300.0  # seconds for one request; the slowest takes ten here
LAST_LINES = 8
SAFE = {"label": r"[\w.+-]+(@[\w.+-]+)?", "ssh": r"(\w[\w.+-]*@)?[\w\[][\w.:\]-]*( -p \d+)?"}
GREETING = {"version": str, "dtypes": list, "device": str, "python": str, "digest": str}

# Runs in the new process before anything is imported: its standard error goes to a file, where even a crash leaves it.
START = """
import os, sys
errors, backend, device, settings = channel.receive()
os.environ.update(settings)
if errors:
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
sys.path[:] = [entry for entry in sys.path if entry]
from transformer_mb.parity.computing.worker import serve
serve(channel, backend, device)
"""


@dataclass(frozen=True)
class WorkerSpec:
    """Which backend, where.

    Args:
        label: the column's name, ``torch`` or ``torch@old``: what stands before the @ is the backend.
        python: another interpreter; ssh: another host, as execnet's ``ssh=`` takes it.
        device: as the framework names it; None is its default.
    Raises: ParityError for a label, a host or an interpreter that is none.
    """

    label: str
    python: str | None = None
    ssh: str | None = None
    device: str | None = None

    @property
    def backend(self) -> str:
        return self.label.partition("@")[0]

    def __post_init__(self) -> None:
        """Refuse what ssh, a shell or the file system would read as something else than a name."""
        for option, pattern in SAFE.items():
            value = getattr(self, option)
            if value is not None and not re.fullmatch(pattern, value):
                raise ParityError(f"The {option} of a column must match {pattern}, got {value!r}.")
        if self.python is not None and (self.python.startswith("-") or "//" in self.python or not self.python.isprintable()):
            raise ParityError(f"The interpreter of {self.label} must be a path without '//' in it, got {self.python!r}.")

    def gateway(self, folder: Path) -> str:
        """As execnet reads it: parts between double slashes, the interpreter split as a shell would."""
        where = f"ssh={self.ssh}" if self.ssh else "popen"
        python = self.python or (None if self.ssh else sys.executable)
        parts = [where, f"id={self.label}", *([f"python={shlex.quote(python)}"] if python else [])]
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
        try:
            greeting = json.loads(self._receive()[0])
            wrong = [name for name, kind in GREETING.items() if not isinstance(greeting[name], kind)]
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"The worker of {self.spec.label} must greet with {', '.join(GREETING)}, got {error}.") from None
        if wrong or not set(greeting["dtypes"]) <= set(EVERY_DTYPE):
            raise WorkerError(
                f"The worker of {self.spec.label} greeted with a wrong {', '.join(wrong) or 'dtype'}: {greeting}."
            )
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
        try:
            return unpack_arrays(data)
        except Exception as error:  # safetensors raises what it meets
            raise WorkerError(f"{self.spec.label} must answer with named arrays: {error}") from None

    def _receive(self) -> tuple[str, bytes]:
        try:
            answer = self.channel.receive(self.patience)
        except self.channel.TimeoutError:
            self.kill()
            self._fail(f"did not answer within {self.patience:g} s and was ended")
        except EOFError:
            self._fail(self._ending())
        except self.channel.RemoteError as error:
            self._fail(self._refusal(str(error)))
        if not (isinstance(answer, tuple) and [type(part) for part in answer] == [str, bytes]):
            raise WorkerError(f"The worker of {self.spec.label} must answer with a text and bytes, got {answer!r:.80}.")
        return answer

    def _fail(self, what: str) -> NoReturn:
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
