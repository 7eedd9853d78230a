"""The names and types of fields, checked when something is built from them: what comes from a file may be anything."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from .errors import ConfigError

T = TypeVar("T", bound=type)
LARGEST = 1 << 53  # every framework and every reader of JSON holds the whole numbers below


# What other libraries and papers call a field.
OTHER_NAMES = {
    "lr": "learning_rate",
    "d_model": "num_hiddens",
    "d_ff": "ffn_num_hiddens",
    "dim_feedforward": "ffn_num_hiddens",
    "nhead": "num_heads",
    "num_key_value_heads": "num_kv_heads",
    "n_kv_heads": "num_kv_heads",
    "rope_theta": "rotary_base",
    "warmup": "warmup_steps",
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _is_whole),
    "float": ("a finite number", _is_number),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "str": ("a string", lambda value: isinstance(value, str)),
    "tuple[int, ...]": ("a list of whole numbers", lambda value: isinstance(value, tuple) and all(map(_is_whole, value))),
    "tuple[float, float]": (
        "two finite numbers",
        lambda value: isinstance(value, tuple) and list(map(_is_number, value)) == [True] * 2,
    ),
}


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which JSON can hold: whole ones as int, others as float."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, bool | int | float) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"the truth value {value}"
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python writes no numbers with thousands of digits
        return "one with thousands of digits"


def check_field_types(instance: Any) -> None:
    """Refuse values of another type, and put plain numbers in the place of NumPy's.

    Raises ConfigError: naming the field, what it must be and what it is.
    """
    for field in dataclasses.fields(instance):
        value, kind = getattr(instance, field.name), str(field.type)
        expected, is_right = KINDS[kind.removesuffix(" | None")]
        if not ((value is None and kind.endswith(" | None")) or is_right(value)):
            too_large = isinstance(value, Integral) and not isinstance(value, bool) and "int" in kind
            limit = f" below {LARGEST}" if too_large else ""
            raise ConfigError(f"{field.name} must be {expected}{limit}, got {_shown(value)}.")
        if (plain := _plain(value)) is not value:
            object.__setattr__(instance, field.name, plain)  # a frozen dataclass, which is being made


def check_names(what: str, given: Iterable[str], known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> None:
    """Refuse unknown names, all of them at once; raises ConfigError with those that there are, and with what was meant.

    ``elsewhere`` says of names that are known in another place where they belong.
    """
    names = list(known)
    if unknown := sorted(set(given) - set(names)):
        places = {name: (elsewhere or {}).get(name) for name in unknown}
        hints = [f" {name} belongs in {place}." if place else did_you_mean(name, names) for name, place in places.items()]
        raise ConfigError(f"Unknown {what}: {', '.join(unknown)}.{''.join(hints)} There are: {', '.join(names)}.")


def refusing_unknown_fields(declared: T) -> T:
    """A dataclass whose constructor says of a field that it does not have which one was meant."""
    construct = declared.__init__  # type: ignore[misc]
    names = [field.name for field in dataclasses.fields(declared)]

    @functools.wraps(construct)
    def checked(self: Any, *arguments: Any, **fields: Any) -> None:
        check_names(f"field(s) of {declared.__name__}", fields, names)
        construct(self, *arguments, **fields)

    setattr(declared, "__init__", checked)  # noqa: B010  # mypy knows no assignment to a class's __init__
    return declared


def did_you_mean(given: str, known: Iterable[str], other_names: Mapping[str, str] = OTHER_NAMES) -> str:
    """A sentence, with a space before it, that suggests what is nearest to a wrong name; empty where nothing is near."""
    names = list(known)
    others = {other: name for other, name in other_names.items() if name in names}
    close = difflib.get_close_matches(given.lower(), [*names, *others], 1)
    return f" Did you mean {others.get(close[0], close[0])}?" if close else ""
