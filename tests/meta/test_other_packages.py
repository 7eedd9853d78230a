"""Backends of other packages, found by entry point: one that is right passes, one that is wrong fails every test."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = Path(__file__).parent / "packages"


def conformance(name, tmp_path, *options, packages=PACKAGES):
    """Run the suite on a backend of ``packages``: the process's end, and each test with whether it passed."""
    report = tmp_path / "report.xml"
    pytest_of = [sys.executable, "-m", "pytest", "transformer_mb/conformance", "--backend", name, "-q", "--tb=no"]
    environment = {**os.environ, "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [*pytest_of, "-m", "not long", *options, f"--junitxml={report}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    cases = ElementTree.parse(report).getroot().iter("testcase")
    skipped = {"skipped", "failure", "error"}
    return done, {
        f"{c.get('classname')}::{c.get('name')}": not any(c.find(kind) is not None for kind in skipped) for c in cases
    }


def test_every_conformance_test_fails_on_a_backend_that_is_wrong_about_everything(tmp_path):
    done, outcome = conformance("wrong", tmp_path)
    assert done.returncode == 1, done.stdout[-3000:]
    assert len(outcome) >= 150 and not [name for name, passed in outcome.items() if passed]


def test_gradients_that_are_nan_but_for_the_first_fail(tmp_path):
    packages = Path(__file__).parents[1] / "parity" / "packages"
    _, outcome = conformance("later", tmp_path, "-m", "", "-k", "test_cells and (block or preset)", packages=packages)
    assert len(outcome) >= 15 and not any(outcome.values())


def test_a_backend_of_another_package_passes(tmp_path):
    done, outcome = conformance("elsewhere", tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert len(outcome) >= 150


def test_it_is_listed_and_can_be_asked_for():
    code = """
import transformer_mb as tmb
from transformer_mb.registry import entries
assert {"numpy", "elsewhere", "wrong"} <= set(entries())
assert tmb.get_backend("elsewhere").name == "elsewhere"
assert tmb.get_backend().name == "elsewhere"
"""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "TRANSFORMER_MB_BACKEND": "elsewhere"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def cell(name):
    """The status of the matrix's cell that both backends below list."""
    command = [sys.executable, "-m", "transformer_mb", "parity", "--backends", name, "--dtype", "float64"]
    environment = {**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}"}
    options = ["--cases", "layer forward: positions from 3, halves*"]
    return subprocess.run([*command, *options], env=environment, capture_output=True, text=True)


def test_what_a_backend_says_of_itself_is_an_expected_failure_of_the_suite_and_of_the_matrix(tmp_path):
    done, _ = conformance("known", tmp_path, "-k", "columns_of_a_layout", "-rx")
    assert done.returncode == 0 and "1 xfailed" in done.stdout and "not yet ours: its positions" in done.stdout, done.stdout
    done = cell("known")
    assert done.returncode == 0 and "1 expected failure" in done.stdout, done.stdout


def test_a_divergence_that_has_gone_fails_both(tmp_path):
    done, _ = conformance("gone", tmp_path, "-k", "columns_of_a_layout")
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
    done = cell("gone")
    assert done.returncode == 1 and "passes though expected to fail" in done.stdout, done.stdout
