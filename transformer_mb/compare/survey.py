"""Measurement of every framework's built-ins, each framework in a process of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from ..built_in import BUILT_IN
from ..columns.column import Column
from ..columns.ending import TIMEOUT
from ..columns.gateway import Began, by_processes, require_execnet
from ..errors import ConfigError, WorkerError, listed
from ..registry import installed
from . import worker
from .facts import Fact, Probe
from .probes import PROBES

ENDED = "ends the process"


def chosen(only: str = "*") -> list[Probe]:
    """Return the probes whose names match a pattern, or one of several with | between them.

    Raises: ConfigError where none does.
    """
    patterns = [part.strip() for part in only.split("|")]
    found = [probe for name, probe in PROBES.items() if any(fnmatchcase(name, one) for one in patterns)]
    if not found:
        names = list(PROBES)
        near = get_close_matches(only, names, 3, 0.4) or names[:3]
        raise ConfigError(
            f"--only must match the name of a probe, got {only!r}, which none of the {len(names)} does. docs/BEHAVIOURS.md has "
            f"all of them; such are:{listed(near)}"
        )
    return found


def behaviours(
    frameworks: Sequence[str | Column] | None = None,
    only: str = "*",
    timeout: float = TIMEOUT,
    threads: int = 1,
    progress: Callable[[Fact], None] = lambda fact: None,
) -> list[Fact]:
    """Measure every probe in every framework and return the facts, in the order of the probes.

    Args:
        frameworks: names, or columns with an interpreter or a device; default: the built-in ones that are installed.
        only: a pattern of probes' names; | between several.
        threads: that a framework may use.
        progress: called with every fact as it comes, by several threads.
    Raises:
        ConfigError: no probe has such a name.
        WorkerError: a framework's process could not begin.
    """
    require_execnet()
    probes = chosen(only)
    here = [name for name in BUILT_IN if name in installed()]
    columns = [Column(one) if isinstance(one, str) else one for one in (frameworks if frameworks is not None else here)]

    def measure(column: Column, began: Began) -> list[Fact]:
        found = []
        for fact in _column(column, probes, timeout, threads, began):
            progress(fact)
            found.append(fact)
        return found

    facts = [fact for found in by_processes(measure, columns) for fact in found]
    order = [probe.name for probe in probes]
    return sorted(facts, key=lambda fact: order.index(fact.probe))


def _column(column: Column, probes: Sequence[Probe], timeout: float, threads: int, began: Began) -> Iterator[Fact]:
    """Measure in one process after another: a probe that ends its process, which is a fact too, is followed by a new one.

    So is an error on a GPU: an index out of bounds leaves the GPU unusable for that process.
    """
    done = 0
    while done < len(probes):
        with tempfile.TemporaryDirectory() as folder:
            for fact in _process(column, probes[done:], Path(folder), timeout, threads, began):
                done += 1
                yield fact


def _process(
    column: Column, probes: Sequence[Probe], folder: Path, timeout: float, threads: int, began: Began
) -> Iterator[Fact]:
    """Yield the facts of one process, until it ends."""
    with column.open(worker.__name__, (column.backend, column.device), folder, timeout, threads, began) as process:
        for probe in probes:
            try:
                process.send(probe.name)
                fact = Fact(**{**json.loads(process.receive()), "framework": column.label})
            except WorkerError as error:
                fact = Fact(probe.name, column.label, process.greeting, ENDED, str(error))
            yield fact
            if fact.value == ENDED or (fact.raised and fact.device != "cpu"):
                return
