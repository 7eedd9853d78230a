"""Small inputs are of the sizes and kinds that were asked for, and simpler ones are what Hypothesis ends with."""

import hypothesis
import numpy as np
import pytest

from transformer_mb.check import floats, ids, lengths, masks
from transformer_mb.check.shrinking_values import MOST_OTHER, others, small_inputs

INPUTS = {
    "x": floats("B", "T", 3),
    "y": floats("T"),
    "ids": ids("B", "T", below=9),
    "lens": lengths("B", up_to="T"),
    "seen": masks("B", "T"),
    "fixed": np.array([0.25, 0.5]),
}
SIZES = {"B": 2, "T": 3}
LIMITS = {"database": None, "derandomize": True, "deadline": None}


def smallest(condition):
    return hypothesis.find(small_inputs(INPUTS, SIZES), condition, settings=hypothesis.settings(max_examples=500, **LIMITS))


@hypothesis.given(small_inputs(INPUTS, SIZES))
@hypothesis.settings(max_examples=100, **LIMITS)
def test_inputs_are_what_was_asked_for(drawn):
    assert {name: array.shape for name, array in drawn.items()} == {
        "x": (2, 3, 3),
        "y": (3,),
        "ids": (2, 3),
        "lens": (2,),
        "seen": (2, 3),
        "fixed": (2,),
    }
    assert drawn["ids"].min() >= 0 and drawn["ids"].max() < 9
    assert drawn["lens"].min() >= 1 and drawn["lens"].max() <= 3
    assert drawn["seen"].dtype == bool and drawn["seen"].any(-1).all()
    assert others({name: drawn[name] for name in ("x", "y")}) <= MOST_OTHER
    assert drawn["fixed"] is INPUTS["fixed"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (lambda drawn: True, {"x": 0.0, "ids": 0, "lens": 2}),
        (lambda drawn: drawn["x"].sum() > 4, {"x": 5.0, "ids": 0, "lens": 2}),
        (lambda drawn: drawn["ids"].max() > 3, {"x": 0.0, "ids": 4, "lens": 2}),
        (lambda drawn: drawn["lens"].max() == 3, {"x": 0.0, "ids": 0, "lens": 4}),
    ],
)
def test_what_is_left_is_the_simplest_that_holds(condition, expected):
    found = smallest(condition)
    assert {name: found[name].sum() for name in expected} == pytest.approx(expected)


def test_a_value_other_than_0_and_1_is_found_where_it_must_be():
    found = smallest(lambda drawn: drawn["x"].min() < -0.5)
    assert others({"x": found["x"]}) == 1 and found["x"].min() == -1.0
