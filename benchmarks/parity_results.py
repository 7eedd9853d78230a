"""Keeps what ``transformer-mb parity --json`` wrote under results/, its table into the README, and docs/parity.png."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pages import fill
from parity_picture import draw

from transformer_mb.parity.report import markdown

ROOT = Path(__file__).parents[1]


def main(source: str) -> None:
    run = json.loads(Path(source).read_text())
    devices = sorted({str(device).partition(":")[0] for device in run["devices"].values()})
    target = ROOT / "benchmarks" / "results" / f"parity_{'_'.join(devices)}.json"
    # One result a line: a change of one cell is then a change of one line.
    rows = {name: run.pop(name) for name in ("results", "control_results")}
    text = json.dumps(run, indent=1)[:-2]
    for name, entries in rows.items():
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        text += f',\n "{name}": [\n{lines}\n ]'
    target.write_text(text + "\n}\n")
    if devices == ["cpu"]:
        draw(target, ROOT / "docs" / "parity.png")
        fill(ROOT / "README.md", "parity", markdown(json.loads(target.read_text())))


if __name__ == "__main__":
    main(sys.argv[1])
