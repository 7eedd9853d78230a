"""The process that measures one framework: its device, its version and its facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any

from ..built_in import BUILT_IN
from ..registry import load_backend_class
from .builtins import built_in
from .facts import ON, RAISES, Absent, Fact
from .probes import PROBES


def begin(framework: str, device: str | None) -> tuple[list[str], Callable[[str], str]]:
    """Begin as the process: return the framework's version, and the function from a probe's name to its fact."""
    # The backend's package too, for what it does before the framework can be imported.
    backend = load_backend_class(framework)
    placed = place(framework, backend, device)
    version = versions(framework) + ("" if placed == "cpu" else f"{ON}{placed}")
    return [version], lambda name: json.dumps(asdict(measured(framework, version, name)))


def place(framework: str, backend: Any, device: str | None) -> str:
    """Make the framework compute on a device, by default its own choice, and return the device's name.

    No backend is made for it: that would turn off what GPUs round by a framework's defaults, and these are asked for.

    Args:
        backend: the framework's class. device: as ``devices`` lists it, or ``cuda`` or ``gpu`` for what the framework calls so.
    Raises: DeviceError where it has no such device.
    """
    if device is None:
        return built_in(framework, "device", "default")()
    gpus = (device.replace("cuda", "gpu"), device.replace("gpu", "cuda"))
    names = [name for one in (device, *gpus) for name in (one, f"{one}:0") if name in backend.devices()]
    name = backend.check_device(names[0] if names else device, device)
    built_in(framework, "device", "use")(name)
    return name


def versions(framework: str) -> str:
    """Return the versions of the framework and its libraries of layers: ``0.7.1 with flax 0.11.2, optax 0.2.6``."""
    others = BUILT_IN[framework].requires[1:]
    more = ", ".join(f"{package} {import_module(package).__version__}" for package in others)
    return str(load_backend_class(framework).version()) + (f" with {more}" if more else "")


def measured(framework: str, version: str, name: str) -> Fact:
    """Measure a probe here. An error that the framework raises is a fact too."""
    probe = PROBES[name]
    try:
        value = probe.measure(built_in(framework, probe.topic, probe.operation))
    except Absent as absent:
        return Fact(name, framework, version, None, str(absent))
    except Exception as error:  # whatever a framework raises, in one line
        return Fact(name, framework, version, f"{RAISES}{type(error).__name__}", " ".join(str(error).split())[:200])
    return Fact(name, framework, version, value if isinstance(value, str) else float(value))
