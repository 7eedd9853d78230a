"""The table family x framework: ``python -m tools.families --json benchmarks/results/families.json --page docs/PORTING.md``.

Options: ``--names`` and ``--backends`` choose some, separated by commas; ``--layers N`` makes all models shallower.
``--library PYTHON`` runs the library by another interpreter, which has another version of it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from transformer_mb.built_in import BUILT_IN

from .comparison import LIMIT, compared, holds, made
from .ours import written_back
from .published import PUBLISHED, shallow

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
    options = parser.parse_args()
    models: dict[str, Any] = {name: PUBLISHED[name] for name in options.names.split(",")}
    if options.layers:
        models = {name: (made_by, shallow(config, options.layers)) for name, (made_by, config) in models.items()}
    record = measured(models, options.backends.split(","), options.library)
    text = f"{', '.join(f'{name} {version}' for name, version in record['versions'].items())}\n\n{table(record)}"
    print(text)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    if options.page:
        fill(options.page, text)
    cells = [row for column in record["backends"].values() for row in column["models"].values()]
    return 0 if all(map(holds, cells)) and not any(record["changed"].values()) else 1


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
