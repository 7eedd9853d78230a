"""A process that answers one request after the other, here, in another Python or on another host, through execnet."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NoReturn, TypeVar

from ..errors import ParityError, WorkerError
from ..extras import install_command
from .ending import ending, hung, with_last_lines
from .environment import SETTINGS
from .started import Started, telling_execmodel

LAST_LINES = 8
STOP_WITHIN, KILLED_WITHIN = 2.0, 5.0  # seconds
# Runs in the new process before anything of ours is imported; its standard error is a file from the first word on, see Started.
START = """
import os, sys
stderr, environment, module, arguments = channel.receive()
os.environ.update(environment)
sys.path[:] = [entry for entry in sys.path if entry]
from transformer_mb.columns import inside
from transformer_mb.machine import processor
if stderr:
    inside.end_with_parent(os.getppid())
processor.tell_openblas()
inside.serve(channel, module, arguments)
"""


def require_execnet() -> None:
    """Refuse, with ParityError and the line that installs it, to go on without execnet."""
    try:
        import execnet  # noqa: F401
    except ImportError:
        raise ParityError(
            f"Workers need execnet, which is not installed. Install it with: {install_command('parity')}."
        ) from None


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let a process that is started inside the block not notice Ctrl-C: its parent decides about its end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Gateway:
    """Every way in which the process can fail is a WorkerError with the reason, and no wait is longer than ``timeout``.

    Args:
        name: what a message calls it. address: as execnet reads it.
        module: its ``begin(*arguments)`` runs there, as ``inside.serve`` says.
        stderr: the file that takes its standard error; None where no file of ours is.
        timeout: seconds that an answer may take, and the start.
        settings: variables of its environment.
        on_process: called when there is a process, which may never answer.
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
        on_process: Callable[[Gateway], None] = lambda gateway: None,
    ):
        import execnet

        self.name, self.stderr, self.timeout = name, stderr, timeout
        self.dead: str | None = None
        self.greeting: Any = None  # the first message, once received
        self.late = False
        self.started: Started | None = None

        def note(started: Started) -> None:
            self.started = started
            on_process(self)

        self.group = execnet.Group(execmodel=telling_execmodel(note, stderr, alone=address.startswith("popen")))
        try:
            with self._limited():
                with _deaf_to_ctrl_c():
                    self.connection = self.group.makegateway(address)
                self.channel = self.connection.remote_exec(START)
                self.channel.send((stderr and str(stderr), dict(settings), module, arguments))
        except Exception as error:  # execnet's own errors share no base class
            raise WorkerError(f"The worker of {name} {self._not_started(error)}.") from None

    def send(self, request: Any) -> None:
        if self.dead:
            raise WorkerError(self.dead)
        try:
            with self._limited():
                self.channel.send(request)
        except OSError:
            self._fail(with_last_lines(hung(self.timeout), self._stderr(), LAST_LINES) if self.late else self._ending())

    def receive(self) -> Any:
        try:
            return self.channel.receive(self.timeout)
        except self.channel.TimeoutError:
            self.kill()
            self._fail(with_last_lines(hung(self.timeout), self._stderr(), LAST_LINES))
        except EOFError:
            self._fail(self._ending())
        except self.channel.RemoteError as error:
            lines = str(error).strip().splitlines()
            # The exception's own line: below it there may be notes, as JAX' on its traceback.
            reason = next((line for line in reversed(lines) if re.match(r"[\w.]+: ", line)), lines[-1])
            ours = re.sub(r"^transformer_mb\.errors\.\w+: ", "", reason)  # says enough by itself
            self._fail(f"could not begin: {ours}")

    @contextmanager
    def _limited(self) -> Iterator[None]:
        """Kill the process where what is done inside takes too long."""

        def end() -> None:
            self.late = True
            self.kill()

        timer = threading.Timer(self.timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _fail(self, what: str) -> NoReturn:
        self.dead = f"The worker of {self.name} {what.removesuffix('.')}."
        raise WorkerError(self.dead)

    def _not_started(self, error: Exception) -> str:
        """Say why, with all that was printed: of an interpreter that is none, execnet says nothing."""
        if self.started is None:
            return f"could not be started: {error}"
        status = None if self.late else self.started.ended_within(1.0)
        self.kill()
        self.started.ended_within(KILLED_WITHIN)
        how = hung(self.timeout) if self.late else f"could not be started: {error}".removesuffix(": ")
        if status is not None and status >= 0:
            how += f"; it ended with status {status}"
        if said := self.started.printed():
            how += f"; it printed: {said}"
        return with_last_lines(how, self._stderr(), LAST_LINES).removesuffix(".")

    @property
    def process(self) -> Any:
        """execnet keeps the process to itself, and its exit status with it."""
        return None if self.started is None else self.started.process

    def _ending(self) -> str:
        status = None if self.started is None else self.started.ended_within(10.0)
        if status is None:  # it lives, but answers no more
            self.kill()
        return ending(status, self._stderr(), LAST_LINES)

    def _stderr(self) -> str:
        try:
            return self.stderr.read_text(errors="replace") if self.stderr else ""
        except OSError:
            return ""

    def kill(self) -> None:
        if self.started is not None:
            self.started.kill()

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, after a while to end by itself, and what it has started."""
        timer = threading.Timer(STOP_WITHIN, self.kill)  # the request to end may wait too
        timer.start()
        self.group.terminate(timeout=STOP_WITHIN)
        timer.cancel()
        self.kill()


Item = TypeVar("Item")
Result = TypeVar("Result")
Began = Callable[[Gateway], None]


def by_processes(work: Callable[[Item, Began], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work`` of each item, in their order, done in as many threads at a time as there are processors.

    It gives its second argument to each Gateway that it makes, as ``on_process``. An error of one, and Ctrl-C, is raised once
    the processes of all are killed.
    """
    begun: list[Gateway] = []
    abandoned = Event()

    def began(gateway: Gateway) -> None:
        begun.append(gateway)
        if abandoned.is_set():
            gateway.kill()
            raise WorkerError("Nobody waits for this process any more.")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            answers = [pool.submit(work, item, began) for item in items]
            for answer in as_completed(answers):  # the first error, whichever of them has it
                answer.result()
            return [answer.result() for answer in answers]
        except BaseException:
            abandoned.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for gateway in begun:
                gateway.kill()
            raise
