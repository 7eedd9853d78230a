"""A comparison of versions in a file: what --json writes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from ...files.regular import read_regular_text
from ..facts import Fact
from ..records import record as facts_record
from .measuring import Comparison, Version


def record(comparison: Comparison) -> dict[str, Any]:
    return {"versions": [asdict(one) for one in comparison.versions], **facts_record(comparison.facts)}


def read_comparison(path: Path) -> Comparison:
    """Raises ConfigError for a file that holds no such record, OSError for none that can be read."""
    try:
        content = json.loads(read_regular_text(path, "facts"))
        columns = tuple(Version(**one) for one in content["versions"])
        return Comparison(columns, tuple(Fact(**fact) for fact in content["behaviours"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} must be what `compare versions --json` writes, got {type(error).__name__}: {error}."
        ) from None
