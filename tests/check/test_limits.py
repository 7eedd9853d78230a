"""Limits by numbers: what the reference loses, what its inputs' last place moves, and what no number says."""

import numpy as np
import pytest

from transformer_mb.check.limits import Yardstick, comparable, judged, measured, worst_figures
from transformer_mb.parity.verdict.limits import Errors

EPS = 2.0**-23


def figure(dtype, error, own=0.0, moved=0.0, kind="outputs"):
    yardstick = Yardstick({"a": Errors(own, own)}, {"a": Errors(moved, moved)})
    return judged(kind, dtype, {"a": Errors(error, error)}, yardstick)[0]


@pytest.mark.parametrize(
    ("dtype", "own", "moved", "limit"),
    [
        ("float64", 0.0, 1e-16, 1e-11),
        ("float64", 0.0, 100 * 2.0**-52, 1e-9),
        ("float32", 1e-6, 0.0, 4e-6),
        ("float32", 0.0, 0.0, 12 * EPS),
        ("float32", 0.0, 1e-6, 4e-6),
        ("float32", 1e-3, 1e-7, 1e-5),  # a reference that loses more than its inputs explain gives no room for it
        ("bfloat16", 0.1, 0.0, 0.2),
    ],
)
def test_a_limit_is_what_the_reference_measures(dtype, own, moved, limit):
    assert figure(dtype, 0.99 * limit, own, moved).passed
    over = figure(dtype, 1.01 * limit, own, moved)
    assert not over.passed and over.limit == pytest.approx(limit)


def test_a_gradient_has_ten_times_the_room_in_float64():
    assert figure("float64", 9e-11, kind="gradients").passed and not figure("float64", 9e-11).passed


def test_what_is_not_finite_fails():
    assert not figure("float32", float("nan")).passed and not figure("float32", 1e-9, own=float("nan")).passed


def test_one_array_with_a_small_error_by_luck_is_held_to_the_median():
    own = {name: Errors(1e-6, 1e-6) for name in "bcd"} | {"a": Errors(0.0, 0.0)}
    found = judged("outputs", "float32", {"a": Errors(3.9e-6, 3.9e-6)}, Yardstick(own, {}))
    assert found[0].passed


def test_one_wrong_number_among_many_is_seen_by_its_own_figure():
    exact = {"a": np.random.default_rng(0).standard_normal(100_000)}
    got = {"a": exact["a"].copy()}
    got["a"][7] += 1e-4
    off = measured("outputs", got, exact)
    assert off["a"].norm < 1e-6 < 9e-5 < off["a"].element
    worst = judged("outputs", "float32", off, Yardstick({"a": Errors(1e-7, 1e-6)}, {}))[0]
    assert not worst.passed and worst.figure == "element"


def test_small_outputs_are_measured_by_their_own_size():
    exact = {"a": np.full(4, 1e-4), "b": np.ones(4)}
    assert measured("outputs", {"a": exact["a"] * 1.01, "b": exact["b"]}, exact)["a"].norm == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("got", "exact", "words"),
    [
        ([1.0, np.nan], [1.0, 2.0], "1 of 2 numbers are not finite on one side alone"),
        ([1.0, 2.0], [1.0, np.inf], "not finite on one side alone"),
        ([1.0, -np.inf], [1.0, np.inf], "not finite on one side alone"),
        ([np.nan], [np.nan], "the reference gives NaN"),
        ([1, 2], [1, 3], "1 of 2 values differ"),
        ([1, 2], [1.0, 2.0], "the reference gives float64"),
        ([[1.0]], [1.0], "the shape must be [1]"),
    ],
)
def test_what_no_error_can_say_is_said_in_words(got, exact, words):
    assert words in comparable({"a": np.array(got)}, {"a": np.array(exact)})[2]["a"]


def test_the_same_infinity_on_both_sides_is_equal():
    ours, theirs, words = comparable({"a": np.array([1.0, -np.inf])}, {"a": np.array([1.0, -np.inf])})
    assert not words and ours["a"].tolist() == theirs["a"].tolist() == [1.0, 0.0]


def test_of_several_draws_the_worst_is_reported():
    found = worst_figures([figure("float32", 1e-7), figure("float32", 1e-5), figure("float32", 2e-7)])
    assert len(found) == 1 and found[0].error == 1e-5
