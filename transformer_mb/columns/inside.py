"""Code inside a column's process: it answers until its channel closes, and does not outlive its parent."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from typing import Any

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def serve(channel: Any, module: str, arguments: tuple[Any, ...]) -> None:
    """Send the first messages of a module, then an answer to each request until the channel closes.

    Its ``begin(*arguments)`` returns these messages and the function that answers.
    """
    messages, answer = importlib.import_module(module).begin(*arguments)
    for message in messages:
        channel.send(message)
    for request in channel:
        channel.send(answer(request))


def end_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends, in whatever way; only Linux offers that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before it was asked
            os._exit(1)
