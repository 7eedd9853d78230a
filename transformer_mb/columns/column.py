"""A column of a comparison: which backend computes, in which interpreter, on which host and device."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ParityError, WorkerError
from .ending import TIMEOUT
from .environment import settings
from .gateway import Gateway

MISSING = "No module named 'transformer_mb"
SAFE = {"label": r"[\w.+-]+(@[\w.+-]+)?", "ssh": r"(\w[\w.+-]*@)?[\w\[][\w.:\]-]*( -p \d+)?"}


@dataclass(frozen=True)
class Column:
    """A backend in an interpreter, on a host and a device.

    Args:
        label: its name, ``torch`` or ``torch@old``: what stands before the @ is the backend.
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
        """Tell whether a GPU was asked for."""
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
        """Return the address as execnet reads it: parts between double slashes, the interpreter split as a shell would."""
        where = f"ssh={self.ssh}" if self.ssh else "popen"
        python = self.python or (None if self.ssh else sys.executable)
        parts = [where, f"id={self.label}", *([f"python={shlex.quote(python)}"] if python else [])]
        return "//".join(parts if self.ssh else [*parts, f"chdir={folder}"])

    def open(
        self,
        module: str,
        arguments: tuple[Any, ...],
        folder: Path,
        timeout: float = TIMEOUT,
        threads: int = 1,
        on_process: Callable[[Gateway], None] = lambda gateway: None,
    ) -> Gateway:
        """Start its process, in which ``module.begin(*arguments)`` runs, and receive the first message, ``greeting``.

        Args:
            folder: holds the folder that it starts in, and its standard error.
            timeout: seconds that an answer may take, and the start. threads: of its arithmetic.
            on_process: called when there is a process; to become an interpreter and to import a framework may take long.
        Raises: WorkerError for a process that could not begin, with the line that installs this package where it lacks it.
        """
        started_in, stderr = folder / self.label, None if self.ssh else folder / f"{self.label}.stderr"
        started_in.mkdir(parents=True)
        address = self.address(started_in)
        gateway = Gateway(self.label, address, module, arguments, stderr, timeout, settings(threads), on_process)
        try:
            gateway.greeting = gateway.receive()
        except BaseException as error:
            gateway.stop()
            if isinstance(error, WorkerError) and MISSING in str(error):
                raise WorkerError(f"{str(error).removesuffix('.')}; {self.install}") from None
            raise
        return gateway
