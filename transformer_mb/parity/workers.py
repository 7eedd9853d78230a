"""The workers of the matrix: one backend each, in a process of its own that says what it is before it computes."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..built_in import EVERY_DTYPE
from ..errors import ParityError, WorkerError
from ..processes.ending import TIMEOUT
from ..processes.gateway import Gateway
from ..processes.messages import unpack_arrays
from .computing.messages import Request
from .computing.worker import serve, source_digest

SAFE = {"label": r"[\w.+-]+(@[\w.+-]+)?", "ssh": r"(\w[\w.+-]*@)?[\w\[][\w.:\]-]*( -p \d+)?"}
GREETING = {"version": str, "dtypes": list, "device": str, "hardware": str, "python": str, "digest": str}


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

    @property
    def on_gpu(self) -> bool:
        """Whether one was asked for."""
        return (self.device or "").startswith(("cuda", "gpu"))

    @property
    def install(self) -> str:
        """The sentence that says how its interpreter gets this package."""
        source = Path(__file__).parents[2]
        return f"install it with `{self.python or sys.executable} -m pip install --editable '{source}[{self.backend}]'`."

    def __post_init__(self) -> None:
        """Refuse what ssh, a shell or the file system would read as something else than a name."""
        for option, pattern in SAFE.items():
            value = getattr(self, option)
            if value is not None and not re.fullmatch(pattern, value):
                raise ParityError(f"The {option} of a column must match {pattern}, got {value!r}.")
        if self.python is not None and (self.python.startswith("-") or "//" in self.python or not self.python.isprintable()):
            raise ParityError(f"The interpreter of {self.label} must be a path without '//' in it, got {self.python!r}.")

    def address(self, folder: Path) -> str:
        """As execnet reads it: parts between double slashes, the interpreter split as a shell would."""
        where = f"ssh={self.ssh}" if self.ssh else "popen"
        python = self.python or (None if self.ssh else sys.executable)
        parts = [where, f"id={self.label}", *([f"python={shlex.quote(python)}"] if python else [])]
        return "//".join(parts if self.ssh else [*parts, f"chdir={folder}"])


class Worker:
    """A process that computes for one backend; every way in which it can fail is a WorkerError with the reason."""

    def __init__(
        self, spec: WorkerSpec, folder: Path, timeout: float = TIMEOUT, on_start: Callable[[Worker], None] = lambda worker: None
    ):
        """``on_start`` is told when there is a process; to become an interpreter and to import a framework may take long."""
        self.spec = spec
        started_in = folder / spec.label
        started_in.mkdir(parents=True)

        def begun(gateway: Gateway) -> None:
            self.gateway = gateway
            on_start(self)

        self.gateway = Gateway(
            spec.label,
            spec.address(started_in),
            serve.__module__,
            (spec.backend, spec.device),
            stderr=None if spec.ssh else folder / f"{spec.label}.stderr",
            timeout=timeout,
            on_process=begun,
        )
        try:
            self.greeting = self._greeting()
        except WorkerError:
            self.stop()
            raise

    def kill(self) -> None:
        self.gateway.kill()

    def stop(self) -> None:
        self.gateway.stop()

    def _greeting(self) -> dict[str, Any]:
        try:
            greeting = json.loads(self._receive()[0])
            wrong = [name for name, kind in GREETING.items() if not isinstance(greeting[name], kind)]
        except WorkerError as error:
            if "No module named 'transformer_mb" in str(error):
                raise WorkerError(f"{str(error).removesuffix('.')}; {self.spec.install}") from None
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"The worker of {self.spec.label} must greet with {', '.join(GREETING)}, got {error}.") from None
        if wrong or not set(greeting["dtypes"]) <= set(EVERY_DTYPE):
            raise WorkerError(
                f"The worker of {self.spec.label} greeted with a wrong {', '.join(wrong) or 'dtype'}: {greeting}."
            )
        if greeting["digest"] != source_digest():
            raise WorkerError(
                f"The worker of {self.spec.label} holds another transformer_mb than this process: {self.spec.install}"
            )
        return greeting

    @property
    def dead(self) -> str | None:
        """How it ended, once a request has found that it has."""
        return self.gateway.dead

    def ask(self, request: Request) -> dict[str, Any]:
        """The arrays that the backend computes. Raises WorkerError when it cannot, or has died."""
        self.gateway.send(request.pack())
        text, data = self._receive()
        if text:
            raise WorkerError(f"{self.spec.label} raised {text}")
        try:
            return unpack_arrays(data)
        except Exception as error:  # safetensors raises what it meets
            raise WorkerError(f"{self.spec.label} must answer with named arrays: {error}") from None

    def _receive(self) -> tuple[str, bytes]:
        answer = self.gateway.receive()
        if not (isinstance(answer, tuple) and [type(part) for part in answer] == [str, bytes]):
            raise WorkerError(f"The worker of {self.spec.label} must answer with a text and bytes, got {answer!r:.80}.")
        return answer
