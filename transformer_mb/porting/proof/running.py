"""Who runs each side of a proof: D2L's own classes, a foreign library, our backend of a framework, or the oracle."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...registry import entries
from .. import worker
from ..exports import Export
from ..families import Family
from ..formats import FORMATS
from ..model import Arrays, NativeFile, PortedModel
from . import d2l_classes
from .probe import max_steps, request_arrays, run_oracle

ORACLE = "NumPy float64 on the tensors as read"
Ran = tuple[dict[str, np.ndarray], str]  # outputs, and what computed them


def run_source(
    model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, settings: Mapping[str, Any]
) -> Ran:
    """On the tensors that were read, never on the path again, by their own classes where these are installed."""
    given = {name: value for name, value in settings.items() if name not in ("source_vocabulary", "target_vocabulary")}
    native = native or model.native
    reason = ""
    if family.name == "d2l" and native is not None and native.format in d2l_classes.REQUIRES:
        reason = d2l_classes.why_not(model, native, settings)
        if not reason:
            return _by_runner(d2l_classes.RUNNER, model.config, native, batch, given)
    outputs, ran = _run(model, family, native, batch, given)
    return outputs, f"{ran} ({reason})" if reason else ran


def run_result(model: PortedModel, family: Family, format_name: str | None, place: Path, batch: Arrays) -> Ran:
    """``model`` is what our reader finds at ``place``; a file of a framework is loaded by that framework's own loader."""
    if family.name == "d2l" and format_name is not None and _backend_installed(format_name):
        empty = NativeFile(format=format_name, tensors={})
        return _by_runner("proof.reference_runs.backends:run", model.config, empty, batch, {}, path=str(place.resolve()))
    return _run(model, family, model.native, batch, {})


def run_export(config: TransformerConfig, export: Export, place: Path, batch: Arrays) -> Ran:
    empty = NativeFile(format=export.name, tensors={})
    return _by_runner(export.runner, config, empty, batch, {}, path=str(place.resolve()))


def _run(model: PortedModel, family: Family, native: NativeFile | None, batch: Arrays, given: Mapping[str, Any]) -> Ran:
    runner, requires = family.runner, family.requires
    if family.name == "d2l" and native is not None and _backend_installed(native.format):
        runner = "proof.reference_runs.backends:run"
    if runner is None or native is None or any(importlib.util.find_spec(package) is None for package in requires):
        return run_oracle(model, batch), ORACLE
    return _by_runner(runner, model.config, native, batch, given)


def _backend_installed(format_name: str) -> bool:
    backend = FORMATS[format_name].backend
    return backend is not None and all(importlib.util.find_spec(package) for package in entries()[backend].requires)


def _by_runner(
    runner: str, config: TransformerConfig, native: NativeFile, batch: Arrays, given: Mapping[str, Any], **more: Any
) -> Ran:
    request = {
        "format": native.format,
        "config": config.to_dict(),
        "max_steps": max_steps(config),
        "pooled": config.pooler,
        "given": dict(given),
        "native_settings": dict(native.settings),
        **more,
    }
    got, facts = worker.call(runner, request_arrays(batch, native.tensors), request)
    return got, facts.get("ran") or f"transformers {facts['version']}"
