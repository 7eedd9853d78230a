"""The end of a process, in the words that every message uses, and the longest that each may take."""

from __future__ import annotations

import signal

TIMEOUT = 600.0  # seconds for one answer; the slowest takes ten on a small machine
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)  # what a process does not do to itself, by a crash for one
IMPORT_TIMEOUT = 120.0  # seconds to import a framework and say what it offers; the slowest takes ten there
CAUSES = {
    signal.SIGKILL: ", as the system ends a process when memory runs out",
    signal.SIGXCPU: ", since it took more time than a file of its size needs: the file is damaged, or meant to do that",
}


def ending(status: int | None, stderr: str = "", lines: int = 1) -> str:
    """Return words such as "ended with status 1; its stderr ends with: ...".

    Args:
        status: as ``subprocess`` gives it, negative for a signal; None where it is not known.
        lines: how many of the last lines of ``stderr`` are quoted.
    """
    if status is None:
        how = "ended"
    elif status < 0:
        known = {int(one): f"{one.name}{CAUSES.get(one, '')}" for one in signal.Signals}
        how = f"was ended by {known.get(-status, f'signal {-status}')}"
    else:
        how = f"ended with status {status}{'' if status else ', without an answer'}"
    return with_last_lines(how, stderr, lines)


def hung(timeout: float) -> str:
    return f"did not answer within {timeout:g} seconds and was ended"


def with_last_lines(what: str, stderr: str, lines: int) -> str:
    last = " | ".join(line.strip() for line in stderr.strip().splitlines()[-lines:])
    return f"{what}; its stderr ends with: {last}" if last else what
