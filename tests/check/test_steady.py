"""A last place of every number is a change that cannot matter: what a port loses without it does not count as its effect."""

from pathlib import Path

import numpy as np

from transformer_mb import check
from transformer_mb.check.sensitivity import steady

LAYERS = f"{Path(__file__).parent}/layers/in_numpy.py"


def judged(**options):
    """The share of the limit that a candidate takes, and whether the comparison is steady."""
    sides = (check.function(f"{LAYERS}:cubed", **how) for how in ({}, options))
    with check.opened(*sides, inputs={"x": np.ones(4)}, precisions=("float32",)) as session:
        case = session.draw(0)
        (figure,) = check.judge(session, case)
        return figure.share, steady(session, case)


def test_a_port_just_under_its_limit_is_steady_though_a_last_place_would_take_it_over():
    """x^3 moves by three last places: 11 of 12 that are allowed, and three more, would be too many."""
    share, is_steady = judged(off=11)
    assert 0.9 < share < 1.0 and is_steady


def test_a_candidate_that_jumps_at_a_last_place_is_not_steady():
    assert judged(jumps=True) == (0.0, False)
