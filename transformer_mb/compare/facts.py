"""Probes, and the facts that they measure in one framework."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Value = str | float
Ask = Callable[..., Any]  # a framework's function: NumPy arrays and plain numbers in, the same out
KINDS = {
    "exact": "a label, a number of things or bits: equal or not",
    "close": "a number, to six digits",
    "noted": "shown, never judged",
}
CLOSE = 1e-6
ON, RAISES = " on ", "raises "


@dataclass(frozen=True)
class Probe:
    """A question to every framework's own built-ins, and how its answer is read.

    Args:
        name: unique, of a few words: ``layer norm epsilon``.
        operation: the function that answers, in the topic's table in ``compare/builtins/<framework>``.
        measure: calls that function, with whatever inputs it takes, and makes a value of what comes: a label or a number.
        question: what is measured, in a sentence. meaning: what it means for a model.
        setting: what gives the other behavior.
        sources: issues, documentation, papers; empty where none is known.
        kind: how two values are compared, of ``KINDS``.
        topic: the module in ``compare/probes`` that lists the probe, which tells it.
    """

    name: str
    operation: str
    measure: Callable[[Ask], Value]
    question: str
    meaning: str
    setting: str
    sources: tuple[str, ...] = ()
    kind: str = "exact"
    topic: str = ""


@dataclass(frozen=True)
class Fact:
    """A probe's result in one framework; ``value`` is None where the framework has no such built-in, and ``reason`` says why.

    ``version`` ends with ``on DEVICE`` where that is no CPU: ``2.13.0 on cuda:0``.
    """

    probe: str
    framework: str
    version: str
    value: Value | None
    reason: str = ""

    @property
    def device(self) -> str:
        return self.version.partition(ON)[2] or "cpu"

    @property
    def raised(self) -> bool:
        """Return whether the value is an error that the framework raised."""
        return isinstance(self.value, str) and self.value.startswith(RAISES)


class Absent(Exception):
    """The framework has no such built-in; with the reason as a sentence."""


def same(kind: str, first: Value | None, second: Value | None) -> bool:
    """Return whether two values of one probe are the same fact."""
    if kind == "noted":
        return True
    if isinstance(first, str) or isinstance(second, str) or first is None or second is None:
        return first == second
    if kind == "exact" or not (math.isfinite(first) and math.isfinite(second)):
        return first == second or (math.isnan(first) and math.isnan(second))
    return math.isclose(first, second, rel_tol=CLOSE, abs_tol=1e-12)
