"""Where NumPy computes."""

from __future__ import annotations


def default() -> str:
    return "cpu"


def use(device: str) -> None:
    """There is no other."""
