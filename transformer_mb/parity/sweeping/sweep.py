"""A sweep: its units run where they have no result, and what those of a folder show together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...printable import counted
from ...units import running
from ...units.running import Engine, Tell
from .findings import Findings
from .folder import SweepFolder
from .unit import Unit, answered


def in_turn(jobs: int | None) -> Engine:
    """The engine that runs one unit after the other, here; each takes all cores, or ``jobs`` of them."""
    return running.in_turn(answered, jobs)


def run_missing(units: Sequence[Unit], folder: SweepFolder, engine: Engine, tell: Tell) -> dict[str, str]:
    """Run the units that have no result: however many cells of one have failed, it is one. See ``running.run_missing``."""
    return running.run_missing(units, folder, engine, tell, _done)


def _done(run: dict[str, Any]) -> str:
    return f"{counted(run['cells'], 'cell')}, {run['failed']} failed, {run['seconds']:.0f} s on {run['host']}"


def found_in(units: Sequence[Unit], folder: SweepFolder, unable: dict[str, str]) -> Findings:
    """Return what these units show, as ``collected`` would report of a folder that holds no others."""
    findings = Findings()
    for unit in units:
        findings.add(unit.name, unit.selection.seed, folder.result(unit.name), unable.get(unit.name))
    return findings


def collected(folder: SweepFolder, seeds: Iterable[int] = ()) -> Findings:
    """Return what all units of a folder show.

    Those that were planned and have no result are missed by name, and so are the ``seeds`` that no command has planned.
    """
    findings, planned = Findings(), set()
    for found in folder.results():
        seed = found.described["seed"] if found.described else None
        if found.run is None and found.refused:
            findings.refuse(found.refused)
        else:
            findings.add(found.name, seed, found.run)
        planned.add(seed)
    for seed in seeds:
        if seed not in planned:
            findings.add("no unit", seed, None, "nobody has planned it here")
    return findings
