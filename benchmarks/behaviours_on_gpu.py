"""Keeps what ``compare behaviours --device ... --json`` measured on a GPU: results/ under its name, a page of what differs.

python benchmarks/behaviours_on_gpu.py RUN.json "NVIDIA H200"
"""

from __future__ import annotations

import sys
from pathlib import Path

from transformer_mb.compare.devices import page
from transformer_mb.compare.records import read_facts

ROOT = Path(__file__).parents[1]


def main(source: str, gpu: str) -> None:
    text = Path(source).read_text()
    (ROOT / "benchmarks" / "results" / f"behaviours_{gpu.replace(' ', '_')}.json").write_text(text)
    (ROOT / "docs" / "BEHAVIOURS_ON_GPU.md").write_text(page(read_facts(Path(source))))


if __name__ == "__main__":
    main(*sys.argv[1:])
