"""The names and types of fields, checked when something is built from them: what comes from a file may be anything."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

from .errors import ConfigError

LARGEST = 1 << 53  # every framework and every reader of JSON holds the whole numbers below


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": (f"a whole number below {LARGEST}", _is_whole),
    "float": ("a finite number", _is_number),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "str": ("a string", lambda value: isinstance(value, str)),
    "tuple[int, ...]": ("a list of whole numbers", lambda value: isinstance(value, tuple) and {*map(type, value)} <= {int}),
    "tuple[float, float]": (
        "two finite numbers",
        lambda value: isinstance(value, tuple) and list(map(_is_number, value)) == [True] * 2,
    ),
}


def check_field_types(instance: Any) -> None:
    """Raises ConfigError: naming the field, what it must be and what it is."""
    for field in dataclasses.fields(instance):
        value, kind = getattr(instance, field.name), str(field.type)
        expected, is_right = KINDS[kind.removesuffix(" | None")]
        if not ((value is None and kind.endswith(" | None")) or is_right(value)):
            raise ConfigError(f"{field.name} must be {expected}, got {value!r:.80}.")


def check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown names, all of them at once; raises ConfigError with those that there are."""
    names = list(known)
    if unknown := sorted(set(given) - set(names)):
        raise ConfigError(f"Unknown {what}: {', '.join(unknown)}. There are: {', '.join(names)}.")
