"""The plugin in a project of another folder: its fixture, its decorator, its lock, its report, and cases of other packages."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = """
import numpy as np


class Scale:
    def __init__(self, width, off=0.0):
        self.weight, self.off = np.ones(width), off

    def __call__(self, x):
        return x * self.weight + self.off
"""
HOW = """
from transformer_mb import check
from transformer_mb.pytest_plugin import ParityCase, agree

FIRST = check.numpy("layers:Scale", 4)
WRONG = check.numpy("layers:Scale", 4, off=0.001)
HOW = {"inputs": {"x": check.floats(2, 4)}, "draws": 1, "sensitivity": False}
"""
TESTS = f"""{HOW}

def test_the_same(parity):
    report = parity.check(FIRST, FIRST, **HOW)
    assert report.passed and report.figures


@agree(FIRST, FIRST, **HOW)
def test_by_decorator(report, tmp_path):
    assert report.passed and tmp_path.is_dir()
"""


@pytest.fixture
def project(tmp_path):
    """A function that runs pytest on a project: its files by name, then options."""
    (tmp_path / "layers.py").write_text(LAYERS)

    def run(files, *options):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, options)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_the_fixture_and_the_decorator_compare(project, tmp_path):
    done = project({"test_port.py": TESTS}, "--junitxml=junit.xml", "--parity-report", "found")
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout and "parity: 2 comparisons, 0 did not pass" in done.stdout
    rows = json.loads((tmp_path / "found" / "parity.json").read_text())
    assert [row["verdict"] for row in rows] == ["passed", "passed"] and rows[0]["report"]["figures"]
    assert "All that was judged holds." in (tmp_path / "found" / "index.html").read_text()
    assert "test_port.py::test_the_same" in (tmp_path / "found" / "parity.md").read_text()
    notes = [note.get("name") for note in ElementTree.parse(tmp_path / "junit.xml").getroot().iter("property")]
    assert notes == ["parity", "parity"]


def test_a_difference_fails_the_test_with_the_report_alone(project):
    wrong = TESTS.replace("parity.check(FIRST, FIRST", "parity.check(FIRST, WRONG")
    done = project({"test_port.py": wrong})
    assert done.returncode == 1 and "different" in done.stdout and "1 failed, 1 passed" in done.stdout
    assert "comparisons.py" not in done.stdout  # no way through our code


def test_fewer_comparisons_than_the_lock_has_fail(project, tmp_path):
    lock = ("--parity-lock", tmp_path / "parity.lock")
    assert project({"test_port.py": TESTS}, *lock, "--parity-lock-write").returncode == 0
    assert project({}, *lock).returncode == 0
    done = project({"test_port.py": TESTS.replace("    report = parity.check(FIRST, FIRST, **HOW)\n", "    return\n")}, *lock)
    assert done.returncode == 1 and "test_port.py::test_the_same must run 1 comparisons" in done.stdout, done.stdout
    skipped = TESTS.replace("def test_the_same(parity):\n", "def test_the_same(parity):\n    import pytest; pytest.skip()\n")
    assert project({"test_port.py": skipped}, *lock).returncode == 1
    assert project({"test_port.py": "def test_nothing(): ..."}, *lock).returncode == 1


def test_several_processes_find_the_same(project, tmp_path):
    files, lock = {"test_port.py": TESTS, "test_more.py": TESTS}, ("--parity-lock", tmp_path / "parity.lock")
    assert project(files, *lock, "--parity-lock-write").returncode == 0
    done = project(files, *lock, "-n", "2", "--parity-report", "found")
    assert done.returncode == 0 and "parity: 4 comparisons, 0 did not pass" in done.stdout, done.stdout
    assert len(json.loads((tmp_path / "found" / "parity.json").read_text())) == 4


CASES = f"""{HOW}
print("loaded")
CASES = [ParityCase("right", FIRST, FIRST, HOW), ParityCase("wrong", FIRST, WRONG, HOW)]
"""
OFFERED = {
    "cases.py": CASES,
    "cases-0.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: cases\nVersion: 0.1\n",
    "cases-0.1.dist-info/entry_points.txt": "[transformer_mb.parity_cases]\nmine = cases:CASES\n",
    "test_port.py": TESTS,
}


def test_cases_of_another_package_run_when_they_are_named_and_are_else_not_loaded(project):
    done = project(OFFERED, "-s")
    assert done.returncode == 0 and "loaded" not in done.stdout
    done = project(OFFERED, "-s", "--parity-cases", "mine")
    assert done.returncode == 1 and "loaded" in done.stdout and "1 failed, 3 passed" in done.stdout, done.stdout
    assert "transformer_mb.parity_cases::mine::wrong" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--parity-cases", "theirs"], "--parity-cases must be one of mine, got 'theirs'"),
        (["--parity-lock", "nowhere"], "--parity-lock must be a file that --parity-lock-write has written"),
        (["--parity-lock-write"], "--parity-lock-write must come with --parity-lock FILE"),
        (["--parity-report", "."], "--parity-report must be a new folder"),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(options, said, project):
    done = project(OFFERED, *options)
    assert done.returncode == 4 and said in done.stderr + done.stdout, done.stdout + done.stderr
