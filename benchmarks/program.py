"""Parts that the programs beside this one share: options, the machine they run on, the record that they keep, and the pages."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any


def program(description: str | None, json_help: str = "keep what was measured") -> argparse.ArgumentParser:
    """Make a parser whose help is a program's own docstring, with the option that names its record."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help=json_help)
    return parser


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.machine())
    return {"processor": name, "processors": os.cpu_count(), "python": platform.python_version()}


def keep(path: Path | None, record: dict[str, Any]) -> None:
    """Write the record where a path was given for it."""
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def fill(page: Path, name: str, text: str) -> None:
    """Make anew whatever stands in a page between two comments of a name. Raises ValueError where it has not both."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    content = page.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{page.name} must have the comments {begin.strip()} and {end.strip()}.")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
