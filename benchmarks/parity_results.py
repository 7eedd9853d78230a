"""Keeps what ``transformer-mb parity --json`` wrote under results/, docs/PARITY.md, docs/parity.png and the README's counts.

A run with a GPU in it is kept under the GPU's name, and has a table of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pages import fill
from parity_picture import draw

from transformer_mb.parity.report import counts, markdown

ROOT = Path(__file__).parents[1]


def main(source: str) -> None:
    run = json.loads(Path(source).read_text())
    gpus = {run["hardware"][label] for label, device in run["devices"].items() if device and not device.startswith("cpu")}
    name = "_".join("".join(character if character.isalnum() else "_" for character in gpu) for gpu in sorted(gpus))
    target = ROOT / "benchmarks" / "results" / f"parity_{name or 'cpu'}.json"
    # One result a line: a change of one cell is then a change of one line.
    rows = {name: run.pop(name) for name in ("results", "control_results")}
    text = json.dumps(run, indent=1)[:-2]
    for name, entries in rows.items():
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        text += f',\n "{name}": [\n{lines}\n ]'
    target.write_text(text + "\n}\n")
    run = json.loads(target.read_text())
    fill(ROOT / "docs" / "PARITY.md", "parity-gpu" if gpus else "parity", markdown(run))
    if not gpus:
        draw(target, ROOT / "docs" / "parity.png")
        fill(ROOT / "README.md", "parity", counts(run))


if __name__ == "__main__":
    main(sys.argv[1])
