"""Facts in a file: what --json writes and --against reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..files.regular import read_regular_text
from .facts import Fact


def record(facts: Sequence[Fact]) -> dict[str, Any]:
    return {"behaviours": [asdict(fact) for fact in facts]}


def read_facts(path: Path) -> list[Fact]:
    """Raises ConfigError for a file that holds no such record, OSError for none that can be read."""
    try:
        return [Fact(**fact) for fact in json.loads(read_regular_text(path, "facts"))["behaviours"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} must be what `compare behaviours --json` writes, got {type(error).__name__}: {error}."
        ) from None
