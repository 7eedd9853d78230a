"""The process that measures one framework."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module

from ..built_in import BUILT_IN
from ..registry import load_backend_class
from .facts import ON
from .measuring import measured
from .placing import place


def begin(framework: str, prepare: str | None, device: str | None) -> tuple[list[str], Callable[[str], str]]:
    """Begin as the process: the framework's version, and the function that answers a probe's name with a fact.

    ``prepare`` is ``file.py:function``, called first: tests change a framework's default so.
    """
    # The backend's package too, for what it does before the framework can be imported.
    backend = load_backend_class(framework)
    if prepare is not None:
        file, _, function = prepare.rpartition(":")
        runpy.run_path(file)[function]()
    placed = place(framework, backend, device)
    version = versions(framework) + ("" if placed == "cpu" else f"{ON}{placed}")
    return [version], lambda name: json.dumps(asdict(measured(framework, version, name)))


def versions(framework: str) -> str:
    """Of the framework, and of what its users take its layers and optimizers from: ``0.7.1 with flax 0.11.2, optax 0.2.6``."""
    others = BUILT_IN[framework].requires[1:]
    more = ", ".join(f"{package} {import_module(package).__version__}" for package in others)
    return str(load_backend_class(framework).version()) + (f" with {more}" if more else "")
