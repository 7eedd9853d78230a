"""What is said of a name that nobody knows: which, and the known one that it resembles, or all that there are."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Iterable
from typing import Any, TypeVar

from .errors import ConfigError

T = TypeVar("T", bound=type)


def check_known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown names, all of them at once. Raises ConfigError with the nearest known one of each, or with all."""
    names = list(known)
    unknown = sorted(set(given) - set(names))
    nearest = {name: difflib.get_close_matches(name.lower(), names, 1) for name in unknown}
    if unknown:
        shown = ", ".join(f"{name} (did you mean {near[0]}?)" if near else name for name, near in nearest.items())
        there_are = "" if all(nearest.values()) else f" There are: {', '.join(names)}."
        raise ConfigError(f"Unknown {what}: {shown}.{there_are}")


def refusing_unknown_fields(declared: T) -> T:
    """A dataclass whose constructor says of a field that it does not have which one was meant."""
    construct = declared.__init__  # type: ignore[misc]
    names = [field.name for field in dataclasses.fields(declared)]

    @functools.wraps(construct)
    def checked(self: Any, *arguments: Any, **fields: Any) -> None:
        if not fields.keys() <= set(names):
            check_known(f"field(s) of {declared.__name__}", fields, names)
        construct(self, *arguments, **fields)

    setattr(declared, "__init__", checked)  # noqa: B010  # mypy knows no assignment to a class's __init__
    return declared
