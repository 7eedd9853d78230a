"""Runs of each side of a proof: the family's own classes, a foreign library, our backend of a framework, or the reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...config import TransformerConfig
from ...registry import entries
from .. import worker
from ..files.targets import Target
from ..formats import FORMATS
from ..kinds import Family, Settings
from ..model import Arrays, NativeFile, PortedModel
from ..safety.port_errors import absent, system_errors
from ..settings import VOCABULARIES
from .probe import max_steps, request_arrays, run_reference

REFERENCE = "NumPy float64 on the tensors as read"


class Ran(NamedTuple):
    """Outputs, what computed them, and the fields that this has without any settings."""

    outputs: dict[str, np.ndarray]
    by: str
    fixed: tuple[str, ...] = ()


def run_source(model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, settings: Settings) -> Ran:
    """Run the tensors that were read, never the path again, by their own classes where these are installed."""
    given = {name: value for name, value in settings.items() if name not in VOCABULARIES}
    native = native or model.native
    reason = family.own.why_not(model, native, settings) if family.own and native else None
    if family.own and native and reason == "":
        return _by_reference_run(family.own.runs, model.config, native, batch, given)._replace(fixed=family.own.fixed)
    ran = _run(model, family, native, batch, given)
    return ran._replace(by=f"{ran.by} ({reason})") if reason else ran


def run_result(
    model: PortedModel, found: NativeFile | None, target: Target, place: Path, batch: Arrays, lines: tuple[str, ...]
) -> Ran:
    """Run what was written at ``place``, in which our reader finds ``model`` and ``found``.

    A file of a framework is loaded by its own loader, or by ``lines`` where these load it into our own model.
    """
    if target.format is None or not target.family.in_any_container:
        return _run(model, target.family, found, batch, {})
    native = NativeFile(format=target.format.name, tensors={})
    return _run(model, target.family, native, batch, {}, path=str(place.resolve()), lines=lines)


def run_export(config: TransformerConfig, export: Family, place: Path, batch: Arrays) -> Ran:
    empty = NativeFile(format=export.name, tensors={})
    return _by_reference_run(str(export.runs), config, empty, batch, {}, path=str(place.resolve()))


def _run(model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, given: Settings, **more: Any) -> Ran:
    why = ""
    if family.runs is not None and native is not None:
        if (requires := family.requires) is None:
            row = FORMATS[native.format]
            requires = entries()[row.backend].requires if row.backend else ()
            why = "" if row.backend else f": {row.title} is of no framework"
        if missing := absent(requires):
            why = f": {', '.join(missing)} is not installed"
        if not why:
            return _by_reference_run(family.runs, model.config, native, batch, given, **more)
    return Ran(run_reference(model, batch), f"{REFERENCE}{why}")


def _by_reference_run(
    runs: str, config: TransformerConfig, native: NativeFile, batch: Arrays, given: Mapping[str, Any], **more: Any
) -> Ran:
    request = {
        "format": native.format,
        "config": config.to_dict(),
        "max_steps": max_steps(config),
        "given": dict(given),
        "native_settings": dict(native.settings),
        **more,
    }
    with system_errors(f"{runs} cannot run for the proof"):
        outputs, facts = worker.call(runs, request_arrays(batch, native.tensors), request)
    return Ran(outputs, facts["ran"])
