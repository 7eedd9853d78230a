"""The conformance suite and the native tests of each backend, each in a process of its own."""

import subprocess
import sys

import pytest

from backend_processes import ROOT
from transformer_mb.divergences import DIVERGENCES
from transformer_mb.registry import BUILT_IN

conformance_ids = {}


@pytest.mark.parametrize("name", BUILT_IN)
def test_backend(name, backend_processes, counts):
    counts[name] = passed(name, "not long", backend_processes)


@pytest.mark.long
@pytest.mark.parametrize("name", BUILT_IN)
def test_long_tests_of_a_backend(name, backend_processes, counts):
    counts[f"{name}, long"] = passed(name, "long", backend_processes)


def passed(name, marks, backend_processes):
    """How many tests passed, and what they recorded."""
    ended = backend_processes.result(name, marks)
    assert ended.failure is None, ended.failure
    ids = [f"{case.get('classname')}::{case.get('name')}" for case in ended.cases]
    shared = {test for test in ids if "conformance" in test}
    if marks != "long":
        conformance_ids[name] = shared
    notes = [f"{note.get('name')} {note.get('value')}" for case in ended.cases for note in case.iter("property")]
    known = [f"known divergence {row.case}: {row.reason}" for row in DIVERGENCES if row.backend == name]
    counted = f"{len(shared)} conformance tests, {len(ids) - len(shared)} native tests passed, {len(known)} known divergences"
    return "; ".join([counted, *notes, *known])


def test_every_backend_ran_the_same_tests():
    assert set(conformance_ids) == set(BUILT_IN)
    first = conformance_ids[next(iter(BUILT_IN))]
    assert len(first) >= 150
    assert all(ids == first for ids in conformance_ids.values())


def test_a_backend_that_is_not_usable_fails():
    command = [sys.executable, "-m", "pytest", "--backend", "nonesuch", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "must be one of" in done.stdout
