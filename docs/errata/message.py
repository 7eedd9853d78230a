"""The words of a failing call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LONGEST = 130  # characters of a message that are shown


def message(call: Callable[[], Any]) -> str:
    """The error's type and its first line, or that there was none."""
    try:
        call()
    except Exception as error:
        first = str(error).splitlines()[0]
        return f"{type(error).__name__}: {first if len(first) <= LONGEST else first[:LONGEST] + '...'}"
    return "no error"
