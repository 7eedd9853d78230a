"""The built-ins of each framework as tables: one per topic, with a row per operation.

A row is a function of NumPy arrays and plain numbers that builds what it needs with the framework's defaults and keeps nothing,
or the reason, a sentence, why the framework has no such thing. A reason in the place of a table holds for all its operations.
Besides the topics of the probes a framework has ``device``, where it computes, and ``own_parts``, what it can train with.
"""

from __future__ import annotations

from importlib import import_module

from ..facts import Absent, Ask
from .calls import Row


def row(framework: str, topic: str, operation: str) -> Row:
    """Return the function, or the reason why there is none."""
    table = import_module(f"{__name__}.{framework}").TABLES[topic]
    return table if isinstance(table, str) else table[operation]


def built_in(framework: str, topic: str, operation: str) -> Ask:
    """Return the framework's function. Raises Absent with the reason where it has no such built-in."""
    found = row(framework, topic, operation)
    if isinstance(found, str):
        raise Absent(found)
    return found
