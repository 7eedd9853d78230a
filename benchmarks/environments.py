"""Makes the environments of environments.toml, with this checkout's wheel in each, and runs the parity matrix over all.

    python benchmarks/environments.py [--only 'torch@*'] [--folder build/environments] [--json FILE] [--page FILE]

Each is a column of one run; the run itself is the newest NumPy's.
Exit status: that of the run.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from environment_making import answer, install, interpreter, made, rows

from program import fill, keep, program
from transformer_mb.printable import table_cell

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "environments.toml"
KEPT = ("cells", "planned", "passed", "failed", "expected_failures", "seconds")  # of what --json of parity holds
# JAX spends most of its time in LLVM's optimizations, which change no result; all its versions know these two.
FASTER = {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"}
RUNS = "numpy@newest"  # the environment whose command runs the matrix
TOLD = re.compile(r"numpy|torch|tensorflow_cpu|keras|paddlepaddle|mxnet|jax|flax|optax", re.IGNORECASE)  # packages of the table
# Tells a file of every warning that something will go or that numbers overflow, from the import of the framework on.
SITE = """
import os, sys, warnings
if path := os.environ.get("WARNINGS_GO_TO"):
    kinds = DeprecationWarning, PendingDeprecationWarning, FutureWarning, RuntimeWarning
    def tell(message, category, filename, line, file=None, text=None):
        if issubclass(category, kinds):
            with open(path, "a") as out:
                print(os.path.basename(sys.prefix), category.__name__, filename, line, *str(message).split(), file=out)
    for kind in kinds:
        warnings.simplefilter("default", kind)
    warnings.showwarning = tell
"""


def wheel(folder):
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def prepared(row, folder, built):
    """The environment's interpreter. What its row asks for is installed once, the wheel each time."""
    python, new = made(row, folder, f"{built}[parity]")
    if new:
        (site_packages(python) / "sitecustomize.py").write_text(SITE)
    install(python, "--no-deps", "--force-reinstall", built)
    return python


def site_packages(python):
    return Path(answer(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))


def installed(python):
    found = json.loads(answer(python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
    names = {one["name"].replace("-", "_"): one["version"] for one in found}
    return {name: version for name, version in sorted(names.items()) if TOLD.fullmatch(name.removesuffix("lib"))}


def run_matrix(pythons, folder):
    """The exit status, and what --json holds; the warnings are in a file beside it."""
    result, warnings = folder / "parity.json", folder / "warnings.txt"
    for path in (result, warnings):
        path.unlink(missing_ok=True)
    columns = [word for column, python in pythons.items() for word in ("--python", f"{column}={python}")]
    first = next(iter(pythons))
    command = [pythons[RUNS], "-m", "transformer_mb", "parity", "--backends", first, *columns, "--json", result]
    environment = {**FASTER, **os.environ, "PYTHONPATH": "", "WARNINGS_GO_TO": str(warnings)}
    status = subprocess.run(command, cwd=folder, env=environment).returncode
    return status, json.loads(result.read_text())


def warned(path):
    """Return by column the different warnings: the module that caused one, and its words."""
    by_column = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        column, kind, file, _, *words = line.split()
        module = ".".join(Path(file.rpartition("site-packages/")[2]).with_suffix("").parts)
        by_column.setdefault(column, set()).add((module, f"{kind}: {' '.join(words)}"))
    return {column: sorted(found) for column, found in by_column.items()}


def told(cell):
    return f"{cell['row']}: {cell['case']} [{cell['dtype']}]: {cell['reason']}"


def summary(row, python, run, warnings):
    column = row["column"]
    cells = [one for one in run["results"] if one["backend"] == column]
    shares = [one["error"] / (one["limit"] or 1.0) for one in cells if one["error"] is not None]
    return {
        "python": answer(python, "-c", "import platform; print(platform.python_version())"),
        "python_asked_for": row["python"],
        "packages": installed(python),
        "cells": len(cells),
        "failed": [told(one) for one in cells if one["status"] != "passed"],
        "share_of_the_nearest_limit": round(max(shares, default=0.0), 2),
        "warnings": warnings.get(column, []),
    }


def table(environments):
    """Write the table of docs/ENVIRONMENTS.md: a row for each."""
    yield "| column | Python | packages | cells | failed | nearest to its limit |"
    yield "|---|---|---|---|---|---|"
    for column, one in environments.items():
        packages = ", ".join(f"{name} {version}" for name, version in one["packages"].items())
        counts = f"{one['cells']:,} | {len(one['failed'])} | {one['share_of_the_nearest_limit']}"
        yield f"| {column} | {one['python']} | {packages} | {counts} |"


def warnings_table(environments):
    columns = {}
    for column, one in environments.items():
        for module, words in one["warnings"]:
            columns.setdefault((module, words), []).append(column)
    if not columns:
        yield "No module warned of anything."
        return
    yield "| columns | what warned | warning |"
    yield "|---|---|---|"
    for (module, words), those in sorted(columns.items()):
        yield f"| {', '.join(those)} | {module} | {table_cell(words)} |"


def main():
    parser = program(__doc__, "keep a summary")
    parser.add_argument("--only", default="*", help="columns, such as 'torch@*'")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "environments")
    parser.add_argument("--page", type=Path, help="a page with the comments environments and warnings, to fill in")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    built = wheel(folder / "wheel")
    asked = {row["column"]: row for row in rows(TABLE) if row["column"] == RUNS or fnmatch.fnmatch(row["column"], options.only)}
    pythons = {column: prepared(row, folder, built) for column, row in asked.items()}
    for column, row in asked.items():
        if interpreter(row["python"]) is None:
            print(f"{column}: Python {row['python']} is not here, {sys.executable} takes its place")
    status, run = run_matrix(pythons, folder)
    warnings = warned(folder / "warnings.txt")
    environments = {column: summary(row, pythons[column], run, warnings) for column, row in asked.items()}
    print(*table(environments), "", *warnings_table(environments), sep="\n")
    keep(options.json, {**{name: run[name] for name in KEPT}, "environments": environments})
    if options.page:
        fill(options.page, "environments", "\n".join([*table(environments), ""]))
        fill(options.page, "warnings", "\n".join([*warnings_table(environments), ""]))
    sys.exit(status)


if __name__ == "__main__":
    main()
