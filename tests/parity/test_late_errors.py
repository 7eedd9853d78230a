"""A training that goes wrong late fails: in float32 a backend is put back onto the reference's weights every ten steps."""

from dataclasses import replace

import pytest

from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.training import Recording, later_runs, make_job


@pytest.fixture(scope="module")
def recording():
    return Recording(make_job(None, 0))


def statuses(recording, first_wrong, **options):
    """By the first step of each run, of NumPy in float32 whose recipe changes at a step."""
    found = {}
    for run in later_runs(recording, "float32"):
        if run.first not in (20, 60, 110):
            continue
        changed = options if run.first >= first_wrong else {}

        def ask(request, changed=changed):
            spec = {**request.spec, "options": {**request.spec["options"], **changed}}
            return compute(reference.backend("float32"), replace(request, spec=spec))

        (result,) = run.run("numpy", ask)
        found[run.first] = result.status
    return found


def test_the_right_recipe_passes_from_every_state(recording):
    assert statuses(recording, 0) == {20: PASSED, 60: PASSED, 110: PASSED}


@pytest.mark.parametrize(
    "wrong",
    [{"learning_rate": 0.00505}, {"eps": 1e-4}, {"clip_norm": 2.0}, {"betas": (0.9, 0.99)}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_recipe_that_is_wrong_from_step_60_on_fails_there(recording, wrong):
    assert statuses(recording, 60, **wrong) == {20: PASSED, 60: FAILED, 110: FAILED}


def test_there_are_runs_from_every_ten_steps_in_float32_alone(recording):
    assert [run.first for run in later_runs(recording, "float32")] == list(range(10, 120, 10))
    assert later_runs(recording, "float64") == []
