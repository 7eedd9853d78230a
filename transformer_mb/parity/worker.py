"""Both ends of a conversation of the matrix: the worker that computes for one backend, and what is asked of it from here."""

from __future__ import annotations

import gc
import hashlib
import json
import platform
import sys
import traceback
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..columns.ending import TIMEOUT
from ..errors import BackendError, LackingError, LackingWorkerError, WorkerError

if TYPE_CHECKING:
    from ..columns.column import Column
    from ..columns.gateway import Gateway
    from .computing.messages import Request

Answer = tuple[str, bytes]  # an empty text and arrays, or the words of an error
GREETING = {"version": str, "dtypes": list, "device": str, "hardware": str, "python": str, "digest": str}
# New objects until Python looks for garbage, 700 of itself: what a framework traces is many that live on. With JAX it took a
# tenth of a thread's time.
SELDOM = 10_000


class Worker:
    """A process that computes for one backend; every way in which it can fail is a WorkerError with the reason."""

    def __init__(
        self, column: Column, folder: Path, timeout: float = TIMEOUT, on_start: Callable[[Worker], None] = lambda worker: None
    ):
        """``on_start`` is called when there is a process; to become an interpreter and to import a framework may take long."""
        self.column = column

        def begun(gateway: Gateway) -> None:
            self.gateway = gateway
            on_start(self)

        self.gateway = column.open(__name__, (column.backend, column.device), folder, timeout, on_process=begun)
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
        from ..built_in import EVERY_DTYPE

        whose = f"The worker of {self.column.label}"
        try:
            greeting: dict[str, Any] = json.loads(self._checked(self.gateway.greeting)[0])
            wrong = [name for name, kind in GREETING.items() if not isinstance(greeting[name], kind)]
        except (ValueError, KeyError, TypeError) as error:
            raise WorkerError(f"{whose} must greet with {', '.join(GREETING)}, got {error}.") from None
        if wrong or not set(greeting["dtypes"]) <= set(EVERY_DTYPE):
            raise WorkerError(f"{whose} greeted with a wrong {', '.join(wrong) or 'dtype'}: {greeting}.")
        if greeting["digest"] != source_digest():
            raise WorkerError(f"{whose} holds another transformer_mb than this process: {self.column.install}")
        _check_rows(whose, greeting.get("divergences"))  # after the digest: an older worker has none to name
        return greeting

    @property
    def dead(self) -> str | None:
        """Say how it ended, once a request has shown that it has."""
        return self.gateway.dead

    def ask(self, request: Request) -> dict[str, Any]:
        """Return the arrays that the backend computes. Raises WorkerError when it cannot, or has died."""
        from ..columns.messages import unpack_arrays

        self.gateway.send(request.pack())
        text, data = self._checked(self.gateway.receive())
        if text:
            kind = LackingWorkerError if text.startswith(f"{LackingError.__name__}: ") else WorkerError
            raise kind(f"{self.column.label} raised {text}")
        try:
            return unpack_arrays(data)
        except Exception as error:  # safetensors raises what it meets
            raise WorkerError(f"{self.column.label} must answer with named arrays: {error}") from None

    def _checked(self, answer: Any) -> Answer:
        if not (isinstance(answer, tuple) and [*map(type, answer)] == [str, bytes]):
            raise WorkerError(f"The worker of {self.column.label} must answer with a text and bytes, got {answer!r:.80}.")
        return answer


def _check_rows(whose: str, rows: Any) -> None:
    from ..divergences import Divergence

    try:
        for row in rows:
            Divergence(*row)
    except (BackendError, TypeError) as error:
        raise WorkerError(f"{whose} greeted with a divergence that is none: {error}") from None


def source_digest() -> str:
    """Return a fingerprint of this library's code: two processes with the same one compute by the same rules."""
    package = Path(__file__).parents[1]
    # In a checkout backends is a link, which rglob does not follow.
    files = {path for folder in (package, package / "backends") for path in folder.rglob("*.py")}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def begin(backend: str, device: str | None) -> tuple[list[Answer], Callable[[Answer], Answer]]:
    """Begin as the worker's process: its greeting, and the function that answers a request."""
    from ..registry import load_backend_class

    loaded = load_backend_class(backend)
    first = loaded(device=device, dtype="float32")
    gc.freeze()
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
    greeting = {
        "version": loaded.version(),
        "dtypes": list(loaded.dtypes),
        "device": first.device_name,
        "hardware": first.hardware or platform.machine(),
        "python": sys.version.split()[0],
        "digest": source_digest(),
        "divergences": [astuple(row) for row in loaded.divergences],
    }
    backends: dict[str, Any] = {"float32": first}
    return [(json.dumps(greeting), b"")], lambda request: _answer(loaded, backends, device, *request)


def _answer(loaded: Any, backends: dict[str, Any], device: str | None, text: str, data: bytes) -> Answer:
    from ..columns.messages import pack_arrays
    from ..machine.out_of_memory import without_memory
    from .computing.computations import compute
    from .computing.messages import Request

    try:
        request = Request.unpack(text, data)
        if request.dtype not in backends:
            backends[request.dtype] = loaded(device=device, dtype=request.dtype)
        return "", pack_arrays(compute(backends[request.dtype], request))
    except Exception as error:
        traceback.print_exc()  # into the worker's file
        return f"{type(error).__name__}: {without_memory(error) or error}", b""
