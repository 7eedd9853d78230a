"""Every negative control is caught, here in NumPy, which has every row; ``parity --controls`` plants them in all."""

import pytest

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.built_in import EVERY_DTYPE
from transformer_mb.columns.column import Column
from transformer_mb.parity.computing import life
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.controls import requests
from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.rows.drawn_tokens import DrawnTokens
from transformer_mb.parity.rows.lives import life_experiments
from transformer_mb.parity.rows.one_answer import OwnDropout


@pytest.fixture(scope="module", params=["numpy", pytest.param("torch", marks=pytest.mark.long)])
def outcome(request):
    # One cheap cell of the matrix itself: the controls bring their own. Data out of order shows in a few steps.
    selection = Selection(cases="layer forward: ffn relu*", dtypes=EVERY_DTYPE, controls=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(requests, "CONTINUED", 4)
        return run_matrix([Column(request.param)], selection)[0]


def test_every_control_is_caught(outcome):
    assert len(outcome.controls) >= 60
    assert [control for control in outcome.controls if not control.caught] == []
    assert outcome.holds


def test_every_row_has_a_control_of_its_own(outcome):
    """The hand-over's are planted into the comparisons that it is made of, and say so."""
    rows = {control.row for control in outcome.controls}
    rows |= {row for row in LADDER for control in outcome.controls if row in control.control}
    assert rows == set(LADDER) - lacked(outcome)


def lacked(outcome):
    return set() if "torch" in outcome.backends else {"forward derivatives"}


def test_wrong_numbers_are_planted_into_every_kind_of_answer(outcome):
    """A hand-over's, which needs the others' results, in ``test_answers``."""
    planted = [control for control in outcome.controls if control.control.startswith(("NaN in", "infinity in"))]
    with_floats = {row.name for row in LADDER.values() if not row.made_of} - {"given numbers"}  # whose answer is ids alone
    assert {control.row for control in planted} == with_floats - lacked(outcome)
    arrays = {control.control.split(" in ")[1].split(" (")[0] for control in planted}
    assert {"output", "gradient", "loss", "logits", "losses", "weights", "slots.m", "state 1.weights"} <= arrays


def test_a_control_that_is_missed_fails_the_run(outcome):
    outcome.controls.append(type(outcome.controls[0])("none", "layer forward", "x", "float64", "numpy", False, "fine"))
    assert not outcome.holds
    outcome.controls.pop()


BY_WHAT_THEY_DRAW = {
    "own dropout": OwnDropout.made,
    "life": lambda dtype, seed: life_experiments(dtype, seed, ()),
    "drawn tokens": DrawnTokens.made,
}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("row", BY_WHAT_THEY_DRAW)
def test_every_control_of_a_row_is_caught_in_float64_too(row, seed):
    """In float64 a run plants only the first of each row."""
    life._made.cache_clear()
    (experiment,) = BY_WHAT_THEY_DRAW[row]("float64", seed)
    backend = BACKEND(dtype="float64")
    controls = [control for control in requests.CONTROLS if control.row == row]
    assert len(controls) >= 2
    for control in controls:
        assert control.run(experiment, "numpy", lambda request: compute(backend, request)).caught, control.name
