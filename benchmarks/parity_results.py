"""Keeps what ``transformer-mb parity --json`` wrote: results/, docs/PARITY*.md, docs/parity.png and the README's counts.

    python benchmarks/parity_results.py RUN.json
    python benchmarks/parity_results.py PART.json PART.json ...

Several files are the parts of one run, all of them. A run with a GPU in it is kept under the GPU's name, and that of the
backend where it is one alone, and has a table of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from draw_pictures import main as draw

from program import fill
from transformer_mb.parity.report import counts, figures, markdown, summary

ROOT = Path(__file__).parents[1]


ADDED = ("cells", "planned", "own", "passed", "failed", "expected_failures")
LISTED = ("idle", "results", "control_results")
SHARED = ("code", "versions", "devices", "hardware", "machine", "tf32", "environment")


def whole(parts: list[dict]) -> dict:
    """Parts as the run that they are of; it took as long as the longest, since they run side by side."""
    if len(parts) == 1 and "part" not in parts[0]["settings"]:
        return parts[0]
    first, count = parts[0], len(parts)
    for part in parts:
        number, of = part["settings"].pop("part", (1, 1))
        part["number"] = number
        if differing := [name for name in (*SHARED, "settings") if part[name] != first[name]]:
            sys.exit(f"The parts must be of one run, but part {number} differs in {', '.join(differing)}.")
        if of != count:
            sys.exit(f"All {of} parts must be given, got {count}.")
    if (numbers := sorted(part.pop("number") for part in parts)) != list(range(1, count + 1)):
        sys.exit(f"Each of the {count} parts must be given once, got {numbers}.")
    run = {**first, "seconds": max(part["seconds"] for part in parts)}
    run |= {name: sum(part[name] for part in parts) for name in ADDED}
    early = [part["interrupted"] for part in parts if part["interrupted"]]
    run["interrupted"] = f"{len(early)} of {count} parts ended early, one of them: {early[0]}" if early else None
    run |= {name: [one for part in parts for one in part[name]] for name in LISTED}
    run["controls"] = {name: sum(part["controls"][name] for part in parts) for name in ("planted", "caught")}
    run["free_running"] = {dtype: curves for part in parts for dtype, curves in part.get("free_running", {}).items() if curves}
    run["bisections"] = {name: tree for part in parts for name, tree in part["bisections"].items()}
    nearest: dict[tuple, dict] = {}
    for one in sorted((one for part in parts for one in part["closest"]), key=lambda one: -one["share"]):
        nearest.setdefault((one["backend"], one["row"], one["dtype"]), one)
    run["closest"] = list(nearest.values())
    return run


def main(*sources: str) -> None:
    run = whole([json.loads(Path(source).read_text()) for source in sources])
    gpus = {run["hardware"][label] for label, device in run["devices"].items() if device and not device.startswith("cpu")}
    name = "_".join("".join(character if character.isalnum() else "_" for character in gpu) for gpu in sorted(gpus))
    backends = {label.partition("@")[0] for label in run["devices"]}
    alone = f"_{min(backends)}" if gpus and len(backends) == 1 else ""
    target = ROOT / "benchmarks" / "results" / f"parity_{name or 'cpu'}{alone}.json"
    # One result a line: a change of one cell is then a change of one line.
    rows = {name: run.pop(name) for name in ("results", "control_results")}
    text = json.dumps(run, indent=1)[:-2]
    for name, entries in rows.items():
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        text += f',\n "{name}": [\n{lines}\n ]'
    target.write_text(text + "\n}\n")
    run = json.loads(target.read_text())
    texts = (markdown(run), counts(run)) if gpus else (figures(run), summary(run))
    for page, text in zip(("PARITY_FIGURES.md", "PARITY_ON_GPU.md" if gpus else "PARITY.md"), texts, strict=True):
        fill(ROOT / "docs" / page, f"parity-gpu{alone.replace('_', '-')}" if gpus else "parity", text)
    if not gpus:
        draw("parity")
        fill(ROOT / "README.md", "parity", counts(run))


if __name__ == "__main__":
    main(*sys.argv[1:])
