"""Draws the pictures of the README and of docs/ from benchmarks/results, with no measurement: ``make pictures``.

    python benchmarks/draw_pictures.py [NAME ...]

A name is that of a file in docs/ without its ending; without any, all are drawn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pictures import attention, costs, losses, matrix
from pictures.look import save

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
# By file in docs/: the record that it is drawn from, and what draws it.
PICTURES: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    "parity": ("parity_cpu.json", matrix.draw),
    "losses": ("losses.json", losses.draw),
    "attention": ("attention.jsonl", attention.draw),
    "curves": ("curves.json", costs.draw),
}


def picture(name: str) -> Any:
    """Return one of the pictures as a matplotlib Figure."""
    record, draw = PICTURES[name]
    return draw(json.loads((RESULTS / record).read_text(encoding="utf-8")))


def main(*names: str) -> None:
    if unknown := [name for name in names if name not in PICTURES]:
        sys.exit(f"A picture must be one of {', '.join(PICTURES)}, got {unknown[0]!r}.")
    for name in names or PICTURES:
        save(picture(name), DOCS / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
