"""Who runs each side of a proof: D2L's own classes, a foreign library, our backend of a framework, or the reference."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...registry import entries
from .. import worker
from ..families import DEFAULT, Family
from ..formats import FORMATS
from ..model import Arrays, NativeFile, PortedModel
from ..safety.port_errors import system_errors
from ..settings import VOCABULARIES
from . import d2l_classes
from .probe import max_steps, request_arrays, run_reference

REFERENCE = "NumPy float64 on the tensors as read"
Ran = tuple[dict[str, np.ndarray], str]  # outputs, and what computed them


def run_source(
    model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, settings: Mapping[str, Any]
) -> Ran:
    """On the tensors that were read, never on the path again, by their own classes where these are installed."""
    given = {name: value for name, value in settings.items() if name not in VOCABULARIES}
    native = native or model.native
    reason = ""
    if family is DEFAULT and native is not None and native.format in d2l_classes.REQUIRES:
        reason = d2l_classes.why_not(model, native, settings)
        if not reason:
            return _by_reference_run(d2l_classes.RUNS, model.config, native, batch, given)
    outputs, ran = _run(model, family, native, batch, given)
    return outputs, f"{ran} ({reason})" if reason else ran


def run_result(
    model: PortedModel,
    found: NativeFile | None,
    family: Family,
    format_name: str | None,
    place: Path,
    batch: Arrays,
    lines: tuple[str, ...],
) -> Ran:
    """``model`` and ``found`` are what our reader finds at ``place``; a file of a framework is loaded by its own loader.

    By ``lines``, where these load it into our own model.
    """
    if family is not DEFAULT or format_name is None:
        return _run(model, family, found, batch, {})
    native = NativeFile(format=format_name, tensors={})
    return _run(model, family, native, batch, {}, path=str(place.resolve()), lines=lines)


def run_export(config: TransformerConfig, export: Family, place: Path, batch: Arrays) -> Ran:
    empty = NativeFile(format=export.name, tensors={})
    return _by_reference_run(str(export.runs), config, empty, batch, {}, path=str(place.resolve()))


def _run(
    model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, given: Mapping[str, Any], **more: Any
) -> Ran:
    if family.runs is None or native is None:
        return run_reference(model, batch), REFERENCE
    requires = family.requires
    if family is DEFAULT:
        backend = FORMATS[native.format].backend
        if backend is None:
            return run_reference(model, batch), f"{REFERENCE}: {FORMATS[native.format].title} is of no framework"
        requires = entries()[backend].requires
    if missing := [package for package in requires if importlib.util.find_spec(package) is None]:
        return run_reference(model, batch), f"{REFERENCE}: {', '.join(missing)} is not installed"
    return _by_reference_run(family.runs, model.config, native, batch, given, **more)


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
    return outputs, facts["ran"]
