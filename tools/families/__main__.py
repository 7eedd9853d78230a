"""The table family x framework: ``python -m tools.families --json benchmarks/results/families.json --page docs/PORTING.md``.

Options: ``--names`` and ``--backends`` choose some, separated by commas; ``--layers N`` makes all models shallower.
``--library PYTHON`` runs the library by another interpreter, which has another version of it. ``--read`` measures nothing, and
writes the page from records: the first as a table, of the others what is worst. Records of other models or backends in the same
circumstances are parts of one run, and are joined first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformer_mb.built_in import BUILT_IN

from .comparison import LIMIT, compared, holds, made
from .ours import written_back
from .published import PUBLISHED, shallow

ALIKE = ("versions", "limit", "layers")
BEGIN, END = "<!-- families: begin -->\n", "<!-- families: end -->\n"


def main() -> int:
    """Measure, print the table, and keep both where that is asked for; returns 1 where a cell does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", default=",".join(PUBLISHED))
    parser.add_argument("--backends", default=",".join(BUILT_IN))
    parser.add_argument("--layers", type=int, default=0)
    parser.add_argument("--library", default="", metavar="PYTHON")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--read", type=Path, nargs="+", default=[])
    options = parser.parse_args()
    records = joined(json.loads(path.read_text()) for path in options.read) or [_measured_by(options)]
    print(text(records))
    if options.json:
        options.json.write_text(json.dumps(records[0], indent=1) + "\n")
    if options.page:
        fill(options.page, text(records))
    return 0 if all(map(record_holds, records)) else 1


def _measured_by(options: argparse.Namespace) -> dict[str, Any]:
    models: dict[str, Any] = {name: PUBLISHED[name] for name in options.names.split(",")}
    if options.layers:
        models = {name: (made_by, shallow(config, options.layers)) for name, (made_by, config) in models.items()}
    return {"layers": options.layers, **measured(models, options.backends.split(","), options.library)}


def joined(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join records of the same versions, limit and layers, in the order of the first of each. Raises ValueError where two
    have a model on one backend.
    """
    found: list[dict[str, Any]] = []
    for part in parts:
        whole = next((one for one in found if all(one[name] == part[name] for name in ALIKE)), None)
        if whole is None:
            found.append(part)
            continue
        for backend, column in part["backends"].items():
            known = whole["backends"].setdefault(backend, {**column, "seconds": 0.0, "models": {}})
            if known["version"] != column["version"] or known["models"].keys() & column["models"]:
                raise ValueError(f"Parts must have other models, and one version of {backend}, got {list(column['models'])}.")
            known["models"] |= column["models"]
            known["seconds"] = round(known["seconds"] + column["seconds"], 1)
        whole["classes"] |= part["classes"]
        whole["changed"] |= part["changed"]
    for one in found:
        one["classes"] = {name: one["classes"][name] for name in PUBLISHED if name in one["classes"]}
    return found


def record_holds(record: dict[str, Any]) -> bool:
    """Tell whether every cell does, and every model was written back."""
    return all(map(holds, _cells(record))) and not any(record["changed"].values())


def _cells(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for column in record["backends"].values() for row in column["models"].values()]


def text(records: list[dict[str, Any]]) -> str:
    """Write the part of the page: the table of the first record, and a line for each other one."""
    first, *others = records
    return f"{_circumstances(first)}:\n\n{table(first)}\n" + "".join(map(_worst, others))


def _circumstances(record: dict[str, Any]) -> str:
    library, torch = record["versions"]["transformers"], record["versions"]["torch"]
    layers = f"{record['layers']} layers on each side" if record["layers"] else "all layers"
    searches = dict.fromkeys(name for row in _cells(record) for name in row["tokens"])
    return f"transformers {library}, torch {torch}, {layers}; searches: {', '.join(searches)}"


def _worst(record: dict[str, Any]) -> str:
    worst = max(error for row in _cells(record) for error in row["errors"].values())
    others = sum(count for row in _cells(record) for count in row["tokens"].values())
    changed = sum(map(len, record["changed"].values()))
    models = f"{len(record['classes'])} models on {', '.join(record['backends'])}"
    same = "the same tokens" if not others else f"{others} rows of other tokens"
    back = "written back bit for bit" if not changed else f"{changed} tensors written back otherwise"
    return f"- {_circumstances(record)}: {models}, errors up to {worst:.0e}, {same}, {back}.\n"


def measured(models: dict[str, Any], backends: list[str], library: str = "") -> dict[str, Any]:
    """Make the folders once, write each back, and run every backend in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "made"
        expected, versions = made(folder, models, python=library)
        changed = {model: written_back(folder / model, Path(name) / "written" / model) for model in models}
        columns = {}
        for backend in backends:
            columns[backend] = compared(backend, folder, list(models), expected)
            print(f"{backend}: {columns[backend]['seconds']} s", file=sys.stderr, flush=True)
    return {
        "versions": versions,
        "limit": LIMIT,
        "changed": changed,
        "backends": columns,
        "classes": {m: models[m][0] for m in models},
    }


def table(record: dict[str, Any]) -> str:
    """Write a line per model: the largest error of its outputs on each backend, and what else is not equal."""
    backends = list(record["backends"])
    lines = [("model", "class", *backends, "written back"), ("---",) * (len(backends) + 3)]
    for name, made_by in record["classes"].items():
        cells = [_cell(record["backends"][backend]["models"][name]) for backend in backends]
        changed = record["changed"][name]
        lines.append((name, f"`{made_by}`", *cells, f"{len(changed)} tensors differ" if changed else "bit for bit"))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(row: dict[str, Any]) -> str:
    """Write the largest error, with the searches whose tokens are others."""
    other = "".join(f", {count} rows of {name} differ" for name, count in row["tokens"].items() if count)
    return f"{max(row['errors'].values()):.0e}{other}"


def fill(page: Path, text: str) -> None:
    """Put the table between its two comments. Raises ValueError where a page has not both."""
    before, found, rest = page.read_text().partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{page} must have the comments {BEGIN.strip()} and {END.strip()}.")
    page.write_text(f"{before}{BEGIN}{text}{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
