"""Facts in a file, as --json writes and --against reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from ..errors import ConfigError
from ..files.regular import read_regular_text
from ..files.typed_record import check_record, loaded
from .facts import Fact

Record = TypeVar("Record")


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


def read_record(path: Path, command: str, make: Callable[[Any], Record]) -> Record:
    """What ``compare COMMAND --json`` wrote, made of its content.

    Raises ConfigError for a file that holds no such record, OSError for none that can be read.
    """
    must = f"{path} must be what `compare {command} --json` writes, got"
    try:
        content = loaded(read_regular_text(path, "facts"))
    except ValueError as error:
        raise ConfigError(f"{must} no JSON: {error}.") from None
    try:
        return make(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{must} other JSON, in which this is missing or wrong: {error}.") from None
