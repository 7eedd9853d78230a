"""Mistakes that were judged by hand: those that are none, and those that no cell sees. The tables say why."""

from __future__ import annotations

import tomllib
from pathlib import Path


def by_mistake(name: str) -> dict[str, str]:
    """Return the reason of each mistake, by ``Mutant.key``. Raises ValueError where one has two."""
    reasons = tomllib.loads(Path(__file__).with_name(name).read_text())
    found = {key: reason for reason, keys in reasons.items() for key in keys}
    if len(found) != sum(map(len, reasons.values())):
        raise ValueError(f"A mistake in {name} must have one reason, got two of some.")
    return found


EQUIVALENT = by_mistake("equivalent.toml")
SURVIVORS = by_mistake("survivors.toml")
