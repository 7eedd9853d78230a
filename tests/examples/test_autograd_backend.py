"""A seventh backend, of another package: the shipped suite and the matrix pass on it, and nothing of ours knows its name."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.skeleton.package import files

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "autograd_backend"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where pip has installed it, from a copy: a build leaves files beside its sources."""
    folder = tmp_path_factory.mktemp("autograd")
    shutil.copytree(PACKAGE, folder / "sources")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "installed", folder / "sources"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "installed"


@pytest.fixture
def run(place, tmp_path):
    def run(*words):
        """A module of Python's in a folder of its own, beside the installed package and this checkout."""
        environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
        return subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def suite(run, folder, marks, *options):
    """The tests of the suite that passed, and how many were left out with a reason."""
    words = ("--pyargs", "transformer_mb.conformance", "--backend", "autograd", "-q", "-m", marks, *options)
    done = run("pytest", *words, "-p", "no:cacheprovider", f"--junitxml={folder / 'report.xml'}")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    cases = list(ElementTree.parse(folder / "report.xml").getroot().iter("testcase"))
    return sum(case.find("skipped") is None for case in cases), len(cases)


# Of each file of the suite some tests; the whole runs with the long tests.
SAMPLE = "causality or masks or positions or ties or beam or printed or cells or frozen or dropout"


def test_the_shipped_suite_passes(run, tmp_path):
    passed, ran = suite(run, tmp_path, "not long", "-k", SAMPLE)
    assert passed >= 100 and passed > 0.8 * ran, (passed, ran)


@pytest.mark.long
@pytest.mark.parametrize(("marks", "least"), [("not long", 500), ("long", 100)])
def test_the_whole_shipped_suite_passes(marks, least, run, tmp_path):
    passed, ran = suite(run, tmp_path, marks)
    assert passed >= least, (passed, ran)


def column(run, folder, *options):
    file = folder / "parity.json"
    done = run("transformer_mb", "parity", "--backends", "autograd", "--json", str(file), *options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return json.loads(file.read_text())


def test_its_column_of_the_matrix_passes(run, tmp_path):
    found = column(run, tmp_path, "--cases", "layer*: ffn relu*|layer*: encoder block*|*model*: d2l*", "--controls")
    assert found["failed"] == found["expected_failures"] == 0 and found["passed"] >= 10
    assert found["controls"]


@pytest.mark.long
def test_its_whole_column_of_the_matrix_passes(run, tmp_path):
    found = column(run, tmp_path, "--controls")
    assert found["failed"] == found["expected_failures"] == 0 and found["passed"] >= 500


def test_nothing_of_the_package_knows_its_name():
    assert "autograd" not in BUILT_IN
    sources = [*(ROOT / "transformer_mb").rglob("*.py"), *(ROOT / "backends").rglob("*.py")]
    named = [path for path in sources if re.search(r"transformer_mb_autograd|^(from|import) autograd", path.read_text(), re.M)]
    assert len(sources) > 500 and not named


@pytest.mark.parametrize("name", ["autograd", "mlx"])
def test_it_has_all_that_the_written_package_asks_for(name):
    """Classes, methods and functions; what it leaves to bases is not written. The one on MLX is in ``examples/`` too."""
    sources = ROOT / "examples" / f"{name}_backend" / f"transformer_mb_{name}"
    for path, text in files(name).items():
        if path.endswith(".py") and "framework" not in path:
            missing = defined(text) - defined((sources / Path(path).name).read_text())
            assert missing <= {"positionalencoding.p", "beamdecoder._suppress"}, path  # which are attributes there


def defined(source):
    """Functions, classes and methods in lower case, the call of a layer by either name."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name.lower())
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef):
                found.add(f"{node.name}.{inner.name}".replace(".forward", ".__call__").lower())
    return found


@pytest.fixture
def older(place, tmp_path):
    """The package as it was before networks could be gated, which it declares."""
    folder = tmp_path / "older"
    shutil.copytree(place, folder)
    network, backend = (folder / "transformer_mb_autograd" / f"{name}.py" for name in ("feed_forward", "backend"))
    lines = [line for line in network.read_text().splitlines() if "gated" not in line]
    network.write_text("\n".join(lines).replace("hidden if self.dense3 is None else hidden * self.dense3(X)", "hidden"))
    declared = '    trainer_class = AutogradTrainer\n    lacks = {"ffn_gated": "not written yet"}\n'
    backend.write_text(backend.read_text().replace("    trainer_class = AutogradTrainer\n", declared))
    assert "dense3" not in network.read_text() and "lacks" in backend.read_text()
    return folder


@pytest.mark.long
def test_a_backend_without_a_newer_switch_says_so_and_passes_all_else(older, tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{older}{os.pathsep}{ROOT}"}
    ask = partial(subprocess.run, capture_output=True, text=True, cwd=tmp_path, env=environment)
    cases = "*gated*|layer*: ffn relu*|model forward: drawn*"
    words = [sys.executable, "-m", "transformer_mb", "parity", "--backends", "autograd", "--cases", cases]
    done = ask([*words, "--json", str(tmp_path / "found.json")])
    assert done.returncode == 0 and "The backend autograd lacks ffn_gated (not written yet): " in done.stdout, done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["failed"] == 0 and found["passed"] >= 8 and found["expected_failures"] >= 4
    assert {row["status"] for row in found["results"] if "gated" not in row["case"]} == {"passed"}
    words = [sys.executable, "-m", "pytest", "--pyargs", "transformer_mb.conformance", "--backend", "autograd", "-q", "-rs"]
    words += ["-p", "no:cacheprovider", "-m", "not long", "-k", "switches or test_cells or causality"]
    done = ask(words)
    assert done.returncode == 0 and "lacks ffn_gated (not written yet)" in done.stdout, done.stdout[-3000:]
