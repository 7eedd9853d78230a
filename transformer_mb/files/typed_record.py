"""Records in JSON held to the fields of a class: a file from anywhere may hold anything, and is refused in a sentence."""

from __future__ import annotations

import dataclasses
import json
import sys
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}
SHOWN = 60  # characters of a value in an error


def loaded(text: str | bytes | bytearray) -> Any:
    """Parse JSON; raises ValueError, also for what is nested too deeply for any reader."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_record(kind: type, given: Any, what: str, others: bool = False) -> None:
    """Raise ValueError unless ``given`` is an object with the fields of a dataclass, a NamedTuple or a TypedDict.

    Args:
        what: what the error calls it. others: whether it may hold more than these fields.
    """
    hints = _hints(kind)
    if not isinstance(given, dict):
        raise ValueError(f"{what} must be an object, got {shown(given)}")
    optional = [*getattr(kind, "_field_defaults", {}), *_with_default(kind), *getattr(kind, "__optional_keys__", ())]
    if missing := [name for name in hints if name not in given and name not in optional]:
        raise ValueError(f"{what} must have {', '.join(missing)}, but it has none")
    if not others and (unknown := [name for name in given if name not in hints]):
        raise ValueError(f"{what} must have no other fields than {', '.join(hints)}, got {shown(unknown[0])}")
    for name, hint in hints.items():
        if name in given and not fits(given[name], hint):
            raise ValueError(f"{name} of {what} must be {described(hint)}, got {shown(given[name])}")


def fits(value: Any, hint: Any) -> bool:
    """Tell whether a value from JSON is of a type, as annotations write it. A number is finite, and true is none."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if hint is float:
        # A whole number of JSON may be larger than any float.
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if hint is int:
        return type(value) is int
    if origin in (list, tuple, Sequence):
        return isinstance(value, list) and all(fits(one, arguments[0]) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(one, arguments[1]) for one in value.values())
    return isinstance(value, origin or hint)


def described(hint: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(described, arguments))
    if origin in (list, tuple, Sequence):
        return f"a list, each item {described(arguments[0])}"
    if origin in (dict, Mapping):
        return f"an object, each value {described(arguments[1])}"
    return "anything" if hint is Any else WORDS.get(hint, "an object")


def shown(value: Any) -> str:
    """Show a value as JSON has it, and no longer than can be read."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "what is nested too deeply"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Read once per kind: a file may hold thousands of its records."""
    return get_type_hints(kind)


def _with_default(kind: type) -> list[str]:
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [one.name for one in fields if not (one.default is one.default_factory is dataclasses.MISSING)]
