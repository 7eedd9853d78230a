"""Modules of both sides that hold the same weights are paired where the same things enter and leave."""

import numpy as np
import pytest

from transformer_mb.check.pairing import Pair, paired_calls, paired_sites
from transformer_mb.check.side import Passed
from transformer_mb.check.taps import Site
from transformer_mb.check.weight_map import weight_map

X, Y, NORM = (np.random.default_rng(seed).standard_normal((2, 3)) for seed in range(3))


def passed(*sites):
    return Passed({Site(path, 0, way, index): value for path, way, index, value in sites}, {})


def whole(*sites):
    return passed(("", "in", 0, X), *sites, ("", "out", 0, NORM))


NORM_ALONE = (("norm", "in", 0, X + Y), ("norm", "out", 0, NORM))
ADDED = (
    ("addnorm", "in", 0, X),
    ("addnorm", "in", 1, Y),
    ("addnorm.ln", "in", 0, X + Y),
    ("addnorm.ln", "out", 0, NORM),
    ("addnorm", "out", 0, NORM),
)
RELU = np.maximum(X, 0)
ACTIVATED = (
    ("first", "in", 0, Y),
    ("first.dense", "in", 0, Y),
    ("first.dense", "out", 0, X),
    ("first", "out", 0, RELU),
)


@pytest.mark.parametrize(
    ("reference", "name", "candidate", "other", "expected"),
    [
        (NORM_ALONE, "norm.w", ADDED, "addnorm.ln.w", ("norm", "addnorm.ln")),
        (ADDED, "addnorm.ln.w", NORM_ALONE, "norm.w", ("addnorm.ln", "norm")),
        (ACTIVATED, "first.dense.w", (("d", "in", 0, Y), ("d", "out", 0, X)), "d.w", ("first.dense", "d")),
        (ACTIVATED, "first.dense.w", (("d", "in", 0, Y), ("d", "out", 0, RELU)), "d.w", ("first", "d")),
        (ACTIVATED, "first.dense.w", (("d", "in", 0, Y), ("d", "out", 0, X + 1e-3)), "d.w", ("first.dense", "d")),
    ],
)
def test_of_modules_inside_each_other_those_are_paired_that_do_the_same(reference, name, candidate, other, expected):
    weights = weight_map({name: other}, {name: (3,)}, {other: (3,)})
    pairs = paired_calls(weights, whole(*reference), whole(*candidate))
    assert [pair[:2] for pair in pairs] == [expected, ("", "")]


def test_what_the_whole_returns_is_paired_by_its_place_and_not_by_what_it_is():
    """Two outputs that change places are a mistake of the layer, whose values are all right."""
    reference = passed(("", "out", 0, X), ("", "out", 1, Y))
    candidate = passed(("", "out", 0, Y), ("", "out", 1, X))
    found = paired_sites(Pair("", "", 0), "out", reference, candidate)
    assert [(one.reference[0][3], one.candidate[0][3]) for one in found] == [(0, 0), (1, 1)]


def test_what_is_given_three_times_is_fed_three_times_though_it_is_far_off():
    """Attention is given one array as queries, keys and values; where it is the wrong one, all three are put right."""
    reference = passed(*(("attn", "in", n, X) for n in range(3)))
    candidate = passed(*(("attn", "in", n, 5 * Y) for n in range(3)))
    (same,) = paired_sites(Pair("attn", "attn", 0), "in", reference, candidate)
    assert len(same.reference) == len(same.candidate) == 3
