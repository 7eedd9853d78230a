"""A comparison of versions in a file: what --json writes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..records import facts_of, read_record
from ..records import record as facts_record
from .measuring import Comparison, Version


def record(comparison: Comparison) -> dict[str, Any]:
    return {"versions": [asdict(one) for one in comparison.versions], **facts_record(comparison.facts)}


def read_comparison(path: Path) -> Comparison:
    return read_record(path, "versions", lambda content: Comparison(_versions(content), tuple(facts_of(content))))


def _versions(content: Any) -> tuple[Version, ...]:
    return tuple(Version(**one) for one in content["versions"])
