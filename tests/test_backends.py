"""Runs the conformance suite and the native tests of each backend, each in a process of its own, a core for each."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from transformer_mb.divergences import DIVERGENCES
from transformer_mb.registry import BUILT_IN

ROOT = Path(__file__).parents[1]
conformance_ids = {}


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts all backends' processes at the first call, as many at a time as there are cores, the slowest first."""
    runs = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def result(name, marks):
            if (name, marks) not in runs:
                for each in reversed(BUILT_IN):
                    runs[each, marks] = pool.submit(run, each, marks, tmp_path_factory.mktemp(each))
            return runs[name, marks].result()

        yield result
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", BUILT_IN)
def test_backend(name, start, counts):
    counts[name] = start(name, "not long")


@pytest.mark.long
@pytest.mark.parametrize("name", BUILT_IN)
def test_long_tests_of_a_backend(name, start, counts):
    counts[f"{name}, long"] = start(name, "long")


def run(name, marks, folder):
    """One process; returns how many tests passed, and what they recorded."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "--backend", name, "-q", "-m", marks, f"--junitxml={report}"]
    # Small arrays: a second thread costs more than it brings.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    ids = [f"{case.get('classname')}::{case.get('name')}" for case in cases]
    shared = {test for test in ids if "conformance" in test}
    if marks != "long":
        conformance_ids[name] = shared
    notes = [f"{note.get('name')} {note.get('value')}" for case in cases for note in case.iter("property")]
    known = [f"known divergence {row.case}: {row.reason}" for row in DIVERGENCES if row.backend == name]
    passed = f"{len(shared)} conformance tests, {len(ids) - len(shared)} native tests passed, {len(known)} known divergences"
    return "; ".join([passed, *notes, *known])


def test_every_backend_ran_the_same_tests():
    assert set(conformance_ids) == set(BUILT_IN)
    first = conformance_ids[next(iter(BUILT_IN))]
    assert len(first) >= 150
    assert all(ids == first for ids in conformance_ids.values())


def test_a_backend_that_is_not_usable_fails():
    command = [sys.executable, "-m", "pytest", "--backend", "nonesuch", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "must be one of" in done.stdout
