"""The course of an error over the modules is told where it jumps or grows, and not where it only passes through."""

import pytest

from transformer_mb.check.limits import Figure
from transformer_mb.check.tree import Node, Tree


def tree(*errors):
    """Modules with these errors in the candidate's own run, of which the first is wrong by itself."""
    wrong = Figure("what it returns", "float64", False, 0.5, 1e-11, "0.5 by norm; limit 1e-11")
    names = "abcde"
    nodes = [Node(names[n], names[n], 0, wrong if n == 0 else None, None, error) for n, error in enumerate(errors)]
    return Tree("float64", tuple(nodes))


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ((1e-16, 1e-3, 1e-3), "the error jumps from 1.0e-16 to 1.0e-03 at b"),
        ((1e-3, 2e-3, 4e-3), "the error grows step by step, from 1.0e-03 to 4.0e-03 over 3 modules"),
        ((0.68, 0.42, 0.64), ""),
        ((0.3,), ""),
    ],
)
def test_the_course_of_an_error(errors, said):
    assert tree(*errors).course == said
