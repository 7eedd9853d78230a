"""Results in JSON: read and checked, and written with what JSON has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError
from ..files.regular import read_regular_text
from ..files.typed_record import loaded

Record = TypeVar("Record")


def read_record(path: Path, command: str, make: Callable[[Any], Record]) -> Record:
    """Read what ``compare COMMAND --json`` wrote, made of its content.

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


def finite(tree: Any) -> Any:
    """Replace what JSON has not: numbers that are not finite by null, tuples by lists."""
    if isinstance(tree, Mapping):
        return {name: finite(value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [finite(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree
