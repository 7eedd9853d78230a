"""Inputs go to the arguments that have their names, else in order; and an exception names the line that it came from."""

import pytest

from transformer_mb import check
from transformer_mb.errors import WorkerError

MINE = """
import numpy as np

class Difference:
    def __call__(self, y, x):
        return x - 2 * y

class Later:
    def __call__(self, x, scale=1.0, *, y):
        return scale * x - 2 * y

class Ordered:
    def __call__(self, *arrays):
        return arrays[0] - 2 * arrays[1]

def other_names(a, b):
    return a - 2 * b

class Broken:
    def __call__(self, x, y):
        return helped(x, y)

def helped(x, y):
    return x @ np.zeros((7, 7))

class Unmade:
    def __init__(self):
        raise ValueError("no such size")
"""
INPUTS = {"x": check.floats("B", 3), "y": check.floats("B", 3)}
RIGHT = "Difference"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return lambda name: check.numpy(f"{tmp_path / 'mine.py'}:{name}")


def outputs(subject, inputs=INPUTS):
    with check.opened(subject, subject, inputs=inputs, sizes={"B": 2}) as session:
        case = session.draw(3)
        return case.inputs, session.by_candidate(case, "float64").outputs["output"]


@pytest.mark.parametrize("name", ["Difference", "Later", "Ordered"])
def test_inputs_go_to_the_arguments_that_have_their_names(name, mine):
    """The first takes y before x; the second has an argument between them, and y by its name alone; the last has no names."""
    given, got = outputs(mine(name))
    assert (got == given["x"] - 2 * given["y"]).all()


def test_inputs_of_other_names_go_in_their_order(mine):
    subject = mine("other_names")
    given, got = outputs(check.function(subject.factory), dict(reversed(INPUTS.items())))
    assert (got == given["y"] - 2 * given["x"]).all()


def test_a_call_that_is_said_is_as_it_is_said(mine):
    given, got = outputs(mine("Difference").calling("x", "y"))
    assert (got == given["y"] - 2 * given["x"]).all()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Broken", "in line 24 of mine.py, `return x @ np.zeros((7, 7))`"),
        ("Unmade", 'in line 28 of mine.py, `raise ValueError("'),
    ],
)
def test_an_exception_names_the_line_of_the_users_code(name, place, mine):
    with pytest.raises(WorkerError) as raised:
        outputs(mine(name))
    assert "raised ValueError " + place in str(raised.value) and "\n" not in str(raised.value)
