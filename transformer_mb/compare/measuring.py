"""Measures probes in this process, which holds one framework."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .facts import RAISES, Absent, Fact, Probe
from .probes import every_probe

FRAMEWORKS = "transformer_mb.compare.frameworks"


def measured(framework: str, version: str, name: str) -> Fact:
    """The fact that a probe finds here. What the framework raises is a fact too, where the probe does not say otherwise."""
    topic, probe = every_probe()[name]
    try:
        value = probe.measure(operation(framework, topic, probe))
    except Absent as absent:
        return Fact(name, framework, version, None, str(absent))
    except Exception as error:  # whatever a framework raises, in one line
        return Fact(name, framework, version, f"{RAISES}{type(error).__name__}", " ".join(str(error).split())[:200])
    return Fact(name, framework, version, value if isinstance(value, str) else float(value))


def operation(framework: str, topic: str, probe: Probe) -> Any:
    """The framework's function. Raises Absent with the reason where it has no such built-in."""
    module = import_module(f"{FRAMEWORKS}.{framework}.{topic}")
    reason = getattr(module, "ABSENT", {}).get(probe.operation)
    if reason is not None:
        raise Absent(reason)
    return getattr(module, probe.operation)
