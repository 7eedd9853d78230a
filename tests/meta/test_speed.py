"""docs/SPEED.md holds what `make bench` and `make curves` measured, row by row and point by point."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"


def wanted():
    work = tomllib.loads((ROOT / "benchmarks" / "speed" / "rows.toml").read_text())["work"]
    return [{"title": job["title"], "job": job["job"], **row} for job in work for row in job["rows"]]


def test_every_row_was_measured():
    measured = json.loads(RESULTS.read_text())["rows"]
    assert [{name: row[name] for name in expected} for row, expected in zip(measured, wanted(), strict=True)] == wanted()
    assert not [row["failed"] for row in measured if "failed" in row]
    assert all(row[side]["rounds"] >= 5 for row in measured for side in ("ours_measured", "peer_measured"))


def test_every_point_of_the_curves_was_measured():
    settings = tomllib.loads((ROOT / "benchmarks" / "speed" / "curves.toml").read_text())
    measured = json.loads(RESULTS.with_name("curves.json").read_text())["results"]
    assert not [one["failed"] for one in measured if "failed" in one]
    found = {(one["backend"], one["axis"], one["value"]) for one in measured}
    moved = {(axis, value) for axis, values in settings["axes"].items() for value in values if value != settings["point"][axis]}
    assert found == {(backend, *each) for backend in settings["backends"] for each in {(None, None), *moved}}


@pytest.mark.parametrize(
    ("module", "results", "part"),
    [
        ("speed.table", "speed.json", "found['rows']"),
        ("first_answer", "first_answer.json", "found['seconds']"),
        ("curves", "curves.json", "found"),
    ],
)
def test_the_page_holds_the_tables(module, results, part):
    code = f"""
import json, sys
from {module} import table
found = json.load(open(sys.argv[1]))
print("\\n".join(table({part})), end="")
"""
    command = [sys.executable, "-c", code, RESULTS.with_name(results)]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert len(done.stdout) > 300 and done.stdout in (ROOT / "docs" / "SPEED.md").read_text()
