"""The environments of `make versions` prove the bounds of the extras, and the page holds what was measured in them."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "environments.json"


def rows():
    return tomllib.loads((ROOT / "benchmarks" / "environments.toml").read_text())["environment"]


def test_the_oldest_are_the_bounds_of_the_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    of_backends = [extras.get(f"{name}-cpu", extras.get(name, [])) for name in BUILT_IN]
    named = [*project["dependencies"], *extras["parity"], *(one for extra in of_backends for one in extra)]
    oldest = [Requirement(package) for row in rows() if row["column"].endswith("@oldest") for package in row["packages"]]
    pinned = {one.name: Version(next(iter(one.specifier)).version) for one in oldest}
    for requirement in map(Requirement, named):
        for bound in requirement.specifier:
            if bound.operator in (">=", "=="):
                assert pinned[requirement.name] == Version(bound.version), requirement


def test_every_backend_has_an_oldest_and_a_newest():
    assert {row["column"] for row in rows()} == {f"{name}@{age}" for name in BUILT_IN for age in ("oldest", "newest")}


def test_the_matrix_holds_in_all_of_them():
    run = json.loads(RESULTS.read_text())
    assert run["failed"] == 0 and run["cells"] == run["planned"] == run["passed"]
    environments = run["environments"]
    assert set(environments) == {row["column"] for row in rows()}
    for row in rows():
        one = environments[row["column"]]
        assert one["cells"] > 400 and not one["failed"]
        assert one["python"].startswith(f"{row['python']}.")
        for package in map(Requirement, row["packages"]):
            if (version := one["packages"].get(package.name.replace("-", "_"))) is not None:
                assert Version(version.partition("+")[0]) in package.specifier


def test_none_of_the_warnings_is_about_our_own_code():
    for one in json.loads(RESULTS.read_text())["environments"].values():
        assert not [warning for warning in one["warnings"] if warning[0].startswith("transformer_mb")]


def test_the_page_holds_what_was_measured():
    code = """
import environments, json, sys
found = json.load(open(sys.argv[1]))["environments"]
print("\\n".join(environments.table(found)), "\\n".join(environments.warnings_table(found)), sep="\\0", end="")
"""
    done = subprocess.run(
        [sys.executable, "-c", code, RESULTS], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
    )
    page = (ROOT / "docs" / "ENVIRONMENTS.md").read_text()
    for table in done.stdout.split("\0"):
        assert table in page
