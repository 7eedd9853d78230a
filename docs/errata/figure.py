"""A figure that another processor rounds, or trains, otherwise, with what its entry claims of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple


class Figure(NamedTuple):
    """``form`` begins with how the number is shown, and its bounds: ``{:.0%} reversed``."""

    value: float
    form: str = "{:.2g}"
    at_least: float = -math.inf
    at_most: float = math.inf

    @property
    def holds(self) -> bool:
        return self.at_least <= self.value <= self.at_most  # which is never so of NaN

    def __str__(self) -> str:
        number = self.form.split()[0]
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        claims = " and ".join(f"{words} {number.format(bound)}" for words, bound in bounds if math.isfinite(bound))
        return f"{self.form.format(self.value)} (claimed: {claims})"


def show(measured: Mapping[str, Any]) -> list[str]:
    """Print what a demonstration measures; returns the lines whose claim does not hold."""
    missed = []
    for what, value in measured.items():
        print(f"{what}: {value}")
        if isinstance(value, Figure) and not value.holds:
            missed.append(f"{what}: {value}")
    return missed
