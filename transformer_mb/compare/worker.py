"""The loop of a process that measures one framework."""

from __future__ import annotations

import json
import runpy
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..built_in import BUILT_IN
from ..registry import load_backend_class
from .facts import ON
from .measuring import measured
from .placing import place


def serve(channel: Any, framework: str, prepare: str | None, device: str | None) -> None:
    """Tell the framework's version, then a fact for every probe that is named, until the channel closes.

    ``prepare`` is ``file.py:function``, called first: tests change a framework's default so.
    """
    # The backend's package too, for what it does before the framework can be imported.
    backend = load_backend_class(framework)
    if prepare is not None:
        file, _, function = prepare.rpartition(":")
        runpy.run_path(file)[function]()
    placed = place(framework, backend, device)
    version = versions(framework) + ("" if placed == "cpu" else f"{ON}{placed}")
    channel.send(version)
    for name in channel:
        channel.send(json.dumps(asdict(measured(framework, version, name))))


def versions(framework: str) -> str:
    """Of the framework, and of what its users take its layers and optimizers from: ``0.7.1 with flax 0.11.2, optax 0.2.6``."""
    others = BUILT_IN[framework].requires[1:]
    more = ", ".join(f"{package} {import_module(package).__version__}" for package in others)
    return str(load_backend_class(framework).version()) + (f" with {more}" if more else "")
