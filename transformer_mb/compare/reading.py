"""How probes read what comes back."""

from __future__ import annotations


def rounded(value: float, digits: int) -> float:
    """To so many significant digits: what an exact setting of that many is, whatever rounding did to it."""
    return float(f"{value:.{digits - 1}e}")
