"""The process behind a gateway from its first moment on: execnet tells of it once it has answered, and it may never do so."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HEARD = 300  # bytes of what a process has printed instead of an answer


class Started:
    """A process and, where it is ``alone`` in a group of processes, those that it starts."""

    def __init__(self, process: subprocess.Popen[bytes], alone: bool):
        self.process, self.alone = process, alone
        self.heard = _Heard(process.stdout)
        process.stdout = self.heard  # type: ignore[assignment]

    def ended_within(self, seconds: float) -> int | None:
        """Return its exit status, negative for a signal; None where it lives still."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        if self.alone:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()

    def printed(self) -> str:
        """Return what it has written to its standard output, which carries answers."""
        text = (self.heard.begun + self.heard.rest()).decode("utf-8", "replace")
        return " | ".join(line.strip() for line in text.splitlines() if line.strip())


class _Heard:
    """A stream that remembers how it began."""

    def __init__(self, stream: Any):
        self.stream, self.begun = stream, b""

    def read(self, count: int) -> bytes:
        got: bytes = self.stream.read(count)
        if len(self.begun) < HEARD:
            self.begun += got[:HEARD]
        return got

    def rest(self) -> bytes:
        """Return what is there now, without waiting for more."""
        with suppress(OSError, ValueError):
            os.set_blocking(self.stream.fileno(), False)
            return bytes(self.stream.read1(HEARD) or b"")
        return b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def telling_execmodel(told: Callable[[Started], None], stderr: Path | None, alone: bool) -> Any:
    """execnet's threads, and its way to start a process, which ``told`` is called with.

    Args:
        stderr: the file that takes its standard error from the first word on.
        alone: start it in a group of its own, which is ended as a whole. One that may ask for a password has to stay in the
            terminal's.
    """
    from execnet.gateway_base import ThreadExecModel

    class Processes:
        PIPE = subprocess.PIPE

        @staticmethod
        def Popen(arguments: Any, **streams: Any) -> Any:
            descriptor = None if stderr is None else os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                process = subprocess.Popen(arguments, stderr=descriptor, process_group=0 if alone else None, **streams)
            finally:
                if descriptor is not None:
                    os.close(descriptor)
            told(Started(process, alone))
            return process

    class Telling(ThreadExecModel):
        subprocess = Processes

    return Telling()
