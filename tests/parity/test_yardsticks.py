"""What others are held to in few bits is held to what its format allows: rounding to the nearest, a scale for each row."""

import numpy as np
import pytest

from transformer_mb.backends.numpy import int8, rounding
from transformer_mb.backends.numpy.framework import Linear
from transformer_mb.rounding import DROPPED, rounded

UNIT = {"bfloat16": 2.0**-8, "tf32": 2.0**-11, "float16": 2.0**-11}  # half of the last place of 1
COUNT = 4096  # terms of a sum: errors to either side cancel to its root, those to one side do not


def positive(*shape, seed=0):
    return np.random.default_rng(seed).uniform(1.0, 2.0, shape).astype(np.float32)


def excess_of_product(to):
    """The error of a product, in what roundings to the nearest of its factors, and of a result that is rounded, may sum to."""
    A, B = positive(8, COUNT), positive(COUNT, 8, seed=1)
    with rounding.rounded_products(to):
        got = rounding.product(A, B)
    A, B = A.astype(np.float64), B.astype(np.float64)
    allowed = 4.0 * UNIT[to] * np.sqrt(A**2 @ B**2) + (0.0 if to == "tf32" else UNIT[to] * (A @ B)) + 1e-6 * (A @ B)
    return float((np.abs(got - A @ B) / allowed).max())


def chopped(array, dtype):
    """Rounded towards zero."""
    if dtype not in DROPPED:
        return rounded(array, dtype)
    single = np.ascontiguousarray(array, np.float32)
    return (single.view(np.uint32) & ~np.uint32(2 ** DROPPED[dtype] - 1)).view(np.float32)


@pytest.mark.parametrize("to", ["bfloat16", "tf32", "float16"])
def test_factors_of_a_product_are_rounded_to_the_nearest(to):
    assert 0.01 < excess_of_product(to) <= 1.0


@pytest.mark.parametrize("to", ["bfloat16", "tf32"])
def test_factors_that_are_cut_off_would_be_seen(to, monkeypatch):
    monkeypatch.setattr(rounding, "rounded", chopped)
    assert excess_of_product(to) > 1.0


def excess_of_operation(to):
    X, Y = positive(1000), positive(1000, seed=1)
    exact = rounded(X, to).astype(np.float64) + rounded(Y, to)
    got = rounding.rounded_array(X, to) + rounding.rounded_array(Y, to)
    return float((np.abs(np.asarray(got, np.float64) - exact) / (UNIT[to] * exact)).max())


@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_an_operation_is_off_by_half_a_last_place(to):
    assert 0.5 < excess_of_operation(to) <= 1.0


def test_an_operation_that_is_cut_off_would_be_seen(monkeypatch):
    monkeypatch.setattr(rounding, "rounded", chopped)
    assert excess_of_operation("bfloat16") > 1.0


def excess_of_int8():
    """The worst error in what both roundings come to, where rows of weight and input differ by factors of a hundred."""
    random = np.random.default_rng(0)
    linear = Linear(64, 6)
    weight = random.standard_normal((6, 64)) * 10.0 ** np.arange(-6, 6, 2)[:, None]
    linear.weight.value = weight.astype(np.float32)
    X = (random.standard_normal((50, 64)) * 10.0 ** np.arange(-50, 50, 2)[:, None].clip(-6, 6)).astype(np.float32)
    got = int8.Int8Linear(linear)(X) - (0.0 if linear.bias is None else linear.bias.value)
    X, weight = X.astype(np.float64), linear.weight.value.astype(np.float64)
    scale = np.abs(weight).max(axis=1) / 127
    step = (np.maximum(X.max(axis=1), 0.0) - np.minimum(X.min(axis=1), 0.0)) / 127
    # Errors of a level at most, of either sign; six standard deviations of their sum.
    allowed = np.sqrt(
        np.outer((X**2).sum(axis=1), scale**2 / 4) + np.outer(step**2, ((np.abs(weight) + scale[:, None]) ** 2).sum(axis=1))
    )
    return float((np.abs(got - X @ weight.T) / (6.0 * allowed / np.sqrt(3))).max())


def test_each_row_of_a_weight_in_eight_bits_has_its_scale():
    assert 0.01 < excess_of_int8() <= 1.0


def test_an_input_has_no_more_levels_than_seven_bits_hold():
    """From -1 to 1 zero lies between two levels, and rounding both ends up would make one more."""
    values = int8._rounded_input(np.float32([[-1.0, 0.0, 1.0]]))[0]
    step = 2.0 / 127
    np.testing.assert_allclose(values / step, [-64.0, 0.0, 63.0], rtol=1e-6)


def test_one_scale_for_all_rows_would_be_seen(monkeypatch):
    class OneScale(int8.Int8Linear):
        def __init__(self, linear):
            super().__init__(linear)
            scale = np.abs(linear.weight.value).max() / 127
            self.near = np.rint(linear.weight.value / scale) * scale

    monkeypatch.setattr(int8, "Int8Linear", OneScale)
    assert excess_of_int8() > 1.0
