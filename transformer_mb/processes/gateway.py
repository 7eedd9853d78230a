"""A process that answers one request after the other, here, in another Python or on another host, through execnet."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ..errors import ParityError, WorkerError
from ..extras import install_command
from .ending import ending, hung, with_last_lines
from .environment import SETTINGS

LAST_LINES = 8
# Runs in the new process before anything is imported: its standard error goes to a file, where even a crash leaves it.
START = """
import os, sys
stderr, environment, module, arguments = channel.receive()
os.environ.update(environment)
if stderr:
    os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
sys.path[:] = [entry for entry in sys.path if entry]
import importlib
if stderr:
    importlib.import_module("transformer_mb.processes.parent").end_with_parent(os.getppid())
importlib.import_module("transformer_mb.machine.processor").tell_openblas()
importlib.import_module(module).serve(channel, *arguments)
"""


def require_execnet() -> None:
    """Raises ParityError with the line that installs it."""
    try:
        import execnet  # noqa: F401
    except ImportError:
        raise ParityError(
            f"Workers need execnet, which is not installed. Install it with: {install_command('parity')}."
        ) from None


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A process that is started inside the block does not notice Ctrl-C: whoever started it decides about its end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Gateway:
    """Every way in which the process can fail is a WorkerError with the reason.

    Args:
        name: what a message calls it. address: as execnet reads it.
        module: its ``serve(channel, *arguments)`` runs there.
        stderr: the file that takes its standard error; None where no file of ours is.
        timeout: seconds that an answer may take.
        settings: variables of its environment.
    """

    def __init__(
        self,
        name: str,
        address: str,
        module: str,
        arguments: tuple[Any, ...],
        stderr: Path | None,
        timeout: float,
        settings: Mapping[str, str] = SETTINGS,
    ):
        import execnet

        self.name, self.stderr, self.timeout = name, stderr, timeout
        self.dead: str | None = None
        self.group = execnet.Group()
        try:
            with _deaf_to_ctrl_c():
                self.connection = self.group.makegateway(address)
            self.channel = self.connection.remote_exec(START)
            self.channel.send((stderr and str(stderr), dict(settings), module, arguments))
        except Exception as error:  # execnet's own errors share no base class
            raise WorkerError(f"The worker of {name} could not be started: {error}.") from None

    def send(self, request: Any) -> None:
        if self.dead:
            raise WorkerError(self.dead)
        try:
            self.channel.send(request)
        except OSError:
            self._fail(self._ending())

    def receive(self) -> Any:
        try:
            return self.channel.receive(self.timeout)
        except self.channel.TimeoutError:
            self.kill()
            self._fail(with_last_lines(hung(self.timeout), self._stderr(), LAST_LINES))
        except EOFError:
            self._fail(self._ending())
        except self.channel.RemoteError as error:
            reason = str(error).strip().splitlines()[-1]
            ours = re.sub(r"^transformer_mb\.errors\.\w+: ", "", reason)  # says enough by itself
            self._fail(f"could not begin: {ours}")

    def _fail(self, what: str) -> NoReturn:
        self.dead = f"The worker of {self.name} {what.removesuffix('.')}."
        raise WorkerError(self.dead)

    @property
    def process(self) -> Any:
        """execnet keeps the process to itself, and its exit status with it."""
        return getattr(self.connection._io, "popen", None)

    def _ending(self) -> str:
        return ending(None if self.process is None else self.process.wait(10), self._stderr(), LAST_LINES)

    def _stderr(self) -> str:
        try:
            return self.stderr.read_text(errors="replace") if self.stderr else ""
        except OSError:
            return ""

    def kill(self) -> None:
        if self.process:
            self.process.kill()

    def stop(self) -> None:
        self.group.terminate(timeout=2.0)
