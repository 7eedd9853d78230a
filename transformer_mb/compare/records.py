"""Facts in a file, as --json writes and --against reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from ..files.typed_record import check_record
from ..reports.record import read_record
from .facts import Fact


def record(facts: Sequence[Fact]) -> dict[str, Any]:
    return {"behaviours": [asdict(fact) for fact in facts]}


class Content(TypedDict):
    behaviours: list[Any]


def facts_of(content: Any) -> list[Fact]:
    """Read the facts. Raises ValueError unless there is a list of them, with each probe of each framework once."""
    check_record(Content, content, "the file", others=True)
    found: dict[tuple[str, str], Fact] = {}
    for number, fact in enumerate(content["behaviours"], 1):
        check_record(Fact, fact, f"fact {number}")
        key = fact["framework"], fact["probe"]
        if key in found:
            raise ValueError(f"{': '.join(key)} must have one fact, got several")
        found[key] = Fact(**fact)
    return list(found.values())


def read_facts(path: Path) -> list[Fact]:
    return read_record(path, "behaviours", facts_of)
