"""The conformance suite and the native tests of each backend, each in a process of its own."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[1]
USUAL = "not long"


def pytest_of(name, *options):
    command = [sys.executable, "-m", "pytest", "--backend", name, "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def passed(name, marks, folder):
    """The names of a backend's tests, which all passed, and what they recorded."""
    done = pytest_of(name, "-m", marks, f"--junitxml={folder / 'report.xml'}")
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    cases = list(ElementTree.parse(folder / "report.xml").getroot().iter("testcase"))
    notes = [f"{note.get('name')} {note.get('value')}" for case in cases for note in case.iter("property")]
    return {f"{case.get('classname')}::{case.get('name')}" for case in cases}, notes


def counted(name, tests, notes):
    """What is printed of a backend at the end."""
    shared = sum("conformance" in test for test in tests)
    counts = f"{shared} conformance tests, {len(tests) - shared} native tests passed"
    return "; ".join([counts, *notes])


@pytest.fixture(scope="module")
def conformance_tests():
    """The names of the tests that every backend must run, collected for the one that is always there."""
    done = pytest_of("numpy", "-m", USUAL, "--collect-only", "transformer_mb/conformance")
    assert done.returncode == 0, done.stdout
    ids = [line.split("::", 1) for line in done.stdout.splitlines() if "::" in line]
    return {f"{path.removesuffix('.py').replace('/', '.')}::{test}" for path, test in ids}


@pytest.mark.parametrize("name", list(BUILT_IN)[::-1])  # the slowest first
def test_backend(name, conformance_tests, tmp_path, record_property):
    tests, notes = passed(name, USUAL, tmp_path)
    assert {test for test in tests if "conformance" in test} == conformance_tests and len(conformance_tests) >= 150
    record_property(f"backend {name}", counted(name, tests, notes))


@pytest.mark.long
@pytest.mark.parametrize("name", list(BUILT_IN)[::-1])
def test_long_tests_of_a_backend(name, tmp_path, record_property):
    record_property(f"backend {name}, long", counted(name, *passed(name, "long", tmp_path)))


def test_a_backend_that_is_not_usable_fails():
    done = pytest_of("nonesuch", "-x")
    assert done.returncode == 1 and "must be one of" in done.stdout
