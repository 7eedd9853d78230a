"""Findings of the runs of a sweep together: what failed, and how near each row came to its limit, over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import ParityError
from ..cells import FAILED, SURPRISING, Result
from ..notable import as_json, closest


@dataclass
class Nearest:
    """The nearest of one column, row and dtype over all seeds: the result that takes most of its limit, and its spread.

    Args:
        seed: the result's. lowest: the smallest of what each run's nearest takes. runs: how many have measured it.
    """

    seed: int
    result: Result
    lowest: float
    runs: int = 1

    @property
    def share(self) -> float:
        return self.result.share or 0.0

    def add(self, seed: int, result: Result) -> None:
        share = result.share or 0.0
        self.runs += 1
        if share < self.lowest:
            self.lowest = share
        if share > self.share:
            self.seed, self.result = seed, result


@dataclass
class Failure:
    """Cells of one column that failed for one reason: ``first`` is the id of one of them."""

    first: str
    cells: int = 0
    seeds: set[int] = field(default_factory=set)


@dataclass
class Findings:
    """Findings of all units together. Each is read once: what is kept grows with the columns and rows, not with the seeds.

    Args:
        units: how many were planned. cells: how many were executed. retried: units that took more than one attempt.
        versions: by column, the version and the kind of device, and a host that has them. source: of this library.
        failures: by column and reason. incomplete: what else kept runs from holding, a line each.
        missed: units without a result, and refused: files that cannot be used, a line each.
        nearest: by column, row and dtype.
    """

    units: int = 0
    cells: int = 0
    retried: int = 0
    seeds: set[int] = field(default_factory=set)
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    source: str | None = None
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)
    incomplete: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    nearest: dict[tuple[str, str, str], Nearest] = field(default_factory=dict)

    @property
    def read(self) -> int:
        return self.units - len(self.missed) - len(self.refused)

    @property
    def failed(self) -> int:
        return sum(failure.cells for failure in self.failures.values())

    @property
    def holds(self) -> bool:
        return self.units > 0 and not (self.failures or self.incomplete or self.missed or self.refused)

    @property
    def ordered(self) -> list[Nearest]:
        """The nearest to its limit first."""
        return sorted(self.nearest.values(), key=lambda one: -one.share)

    def add(self, name: str, seed: int | None, run: Mapping[str, Any] | None, reason: str | None = None) -> None:
        """A unit's result, or that it has none and why.

        Raises ParityError for another version, device or code under one name: figures of two would be reported as of one.
        """
        self.units += 1
        if run is None or seed is None:
            self.missed.append(f"seed {seed}, {name}: {reason or 'it was planned, and has no result'}")
            return
        self._check_same(run)
        self.seeds.add(seed)
        self.cells += run["cells"]
        self.retried += run["attempts"] > 1
        results = [Result(**fields) for fields in run["results"]]
        for one in results:
            if one.status in (FAILED, SURPRISING):
                failure = self.failures.setdefault((one.backend, one.reason), Failure(one.cell.id))
                failure.cells += 1
                failure.seeds.add(seed)
        self._note_incomplete(seed, run)
        for one in closest(results):
            key = one.backend, one.row, one.dtype
            if key in self.nearest:
                self.nearest[key].add(seed, one)
            else:
                self.nearest[key] = Nearest(seed, one, one.share or 0.0)

    def refuse(self, reason: str) -> None:
        """A unit whose file cannot be used; the others are."""
        self.units += 1
        self.refused.append(reason)

    def _note_incomplete(self, seed: int, run: Mapping[str, Any]) -> None:
        controls = run["controls"]
        if missed := controls["planted"] - controls["caught"]:
            self.incomplete.append(f"seed {seed}: {missed} of {controls['planted']} planted mistakes were missed")
        self.incomplete += [f"seed {seed}: {sentence}" for sentence in run["idle"]]
        if run["cells"] != run["planned"] and not run["failed"]:
            self.incomplete.append(f"seed {seed}: {run['cells']} of {run['planned']} cells were executed")
        elif len(run["results"]) != run["planned"]:
            self.incomplete.append(f"seed {seed}: {len(run['results'])} of {run['planned']} cells have a result")

    def _check_same(self, run: Mapping[str, Any]) -> None:
        source = run["unit"]["source"]
        if (self.source or source) != source:
            raise ParityError(
                f"All units of a folder must be measured by one transformer_mb, got {self.source:.12} and {source:.12}: "
                "its code has changed between them. Run the sweep in a new folder."
            )
        self.source = source
        for label, version in run["versions"].items():
            if version is None:  # it did not start, and its cells have failed
                continue
            told = f"{version} on {(run['devices'][label] or '?').partition(':')[0]}"
            first, host = self.versions.setdefault(label, (told, run["host"]))
            if first != told:
                raise ParityError(
                    f"{label} must be one version on one kind of device in all units, got {first} (on host {host}) and {told} "
                    f"(on host {run['host']}): install one on all nodes, or give each a label of its own by --python."
                )

    def to_json(self) -> dict[str, Any]:
        """Return the findings for programs to read; ``share`` and ``lowest`` are parts of the limit."""
        return {
            "units": self.units,
            "read": self.read,
            "retried": self.retried,
            "seeds": sorted(self.seeds),
            "cells": self.cells,
            "versions": {label: version for label, (version, _) in self.versions.items()},
            "failed": [
                {"backend": backend, "reason": reason, **vars(one), "seeds": sorted(one.seeds)}
                for (backend, reason), one in self.failures.items()
            ],
            "incomplete": self.incomplete,
            "missed": self.missed,
            "refused": self.refused,
            "closest": [
                {"seed": one.seed, **as_json(one.result), "lowest": one.lowest, "runs": one.runs} for one in self.ordered
            ],
        }
