"""Every planted mistake is caught, here in two backends; ``transformer-mb parity --controls`` plants them in all."""

import pytest

from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.report import ROWS
from transformer_mb.parity.workers import WorkerSpec


@pytest.fixture(scope="module")
def outcome():
    # One cheap cell of the matrix itself: the controls bring their own.
    selection = Selection(cases="layer forward: ffn relu*", dtypes=("float64",), controls=True)
    return run_matrix([WorkerSpec("numpy"), WorkerSpec("torch")], selection)[0]


def test_every_mistake_is_caught(outcome):
    assert len(outcome.planted) >= 60
    assert [planted for planted in outcome.planted if not planted.caught] == []
    assert outcome.holds


def test_every_row_has_a_mistake_of_its_own(outcome):
    """The hand-over's are planted into the comparisons that it is made of, and say so."""
    rows = {planted.row for planted in outcome.planted}
    rows |= {row for row in ROWS for planted in outcome.planted if row in planted.mistake}
    assert rows == set(ROWS)


def test_a_mistake_that_is_missed_fails_the_run(outcome):
    outcome.planted.append(type(outcome.planted[0])("none", "layer forward", "x", "float64", "numpy", False, "fine"))
    assert not outcome.holds
    outcome.planted.pop()
