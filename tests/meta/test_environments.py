"""The environments of `make versions` prove the bounds of the extras."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from transformer_mb.registry import BUILT_IN

ROOT = Path(__file__).parents[2]
EXTRAS = ("torch", "tensorflow-cpu", "paddle", "mxnet", "jax", "parity")


def rows():
    return tomllib.loads((ROOT / "benchmarks" / "environments.toml").read_text())["environment"]


def test_the_oldest_are_the_bounds_of_the_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    oldest = [Requirement(package) for row in rows() if row["column"].endswith("@oldest") for package in row["packages"]]
    pinned = {one.name: Version(next(iter(one.specifier)).version) for one in oldest}
    for requirement in map(Requirement, named):
        for bound in requirement.specifier:
            if bound.operator in (">=", "=="):
                assert pinned[requirement.name] == Version(bound.version), requirement


def test_every_backend_has_an_oldest_and_a_newest():
    assert {row["column"] for row in rows()} == {f"{name}@{age}" for name in BUILT_IN for age in ("oldest", "newest")}
