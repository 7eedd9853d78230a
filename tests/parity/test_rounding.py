"""bfloat16, float16 and TF32 by their bits, and arithmetic rounded to them."""

import numpy as np
import pytest

from transformer_mb.backends.numpy.rounding import product, summing_in_turn
from transformer_mb.registry import load_backend_class
from transformer_mb.rounding import last_place, rounded, rounded_at_random


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (1.0 + 2**-8, 1.0),  # half of the last place: to even
        (1.0 + 3 * 2**-8, 1.0 + 2**-6),
        (1.0 + 2**-8 + 2**-20, 1.0 + 2**-7),
        (-3.14159265, -3.140625),
        (1e-40, 1.00099e-40),
        (np.inf, np.inf),
    ],
)
def test_bfloat16(value, nearest):
    assert rounded(np.array([value]), "bfloat16")[0] == pytest.approx(nearest, rel=1e-5)


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (1.0 + 2**-11, 1.0),  # half of the last of ten places: to even
        (1.0 + 3 * 2**-11, 1.0 + 2**-9),
        (-(1.0 + 2**-11 + 2**-20), -(1.0 + 2**-10)),
        (65536.0 + 2**6, 65536.0 + 2**6),  # beyond float16
        (-np.inf, -np.inf),
    ],
)
def test_tf32(value, nearest):
    assert rounded(np.array([value]), "tf32")[0] == np.float32(nearest)


def test_float16_is_numpys_own():
    values = np.random.default_rng(0).standard_normal(1000)
    np.testing.assert_array_equal(rounded(values, "float16"), values.astype(np.float16).astype(np.float32))


def test_other_arrays_and_float64_stay():
    ids, exact = np.arange(3), np.array([1.0 + 2**-40])
    assert rounded(ids, "float16") is ids and rounded(exact, "float64") is exact


PLACES = [("float32", 1.0, 2.0**-23), ("bfloat16", -3.0, 2.0**-6), ("float16", 6e-6, 2.0**-24), ("float16", 1024.0, 1.0)]


@pytest.mark.parametrize(("dtype", "value", "place"), PLACES)
def test_at_random_a_number_becomes_one_of_its_two_neighbors_the_nearer_one_more_often(dtype, value, place):
    lower = float(rounded(np.array(value), dtype))
    assert last_place(np.array(lower), dtype) == place
    found = rounded_at_random(np.full(10_000, lower + 0.25 * place), dtype, np.random.default_rng(0))
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [lower, lower + place] and counts[1] == pytest.approx(2_500, abs=250)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_at_random_numbers_of_the_format_stay(dtype):
    values = [0.0, -0.0, 1.0, -1.5, 2.0**-20, np.inf, -np.inf, np.nan]
    stayed = rounded_at_random(np.array(values), dtype, np.random.default_rng(0))
    np.testing.assert_array_equal(stayed, rounded(np.array(values), dtype))


def test_at_random_float16_ends_where_it_does():
    values = np.array([1e5, -1e5, 65504.0])
    assert rounded_at_random(values, "float16", np.random.default_rng(0)).tolist() == [np.inf, -np.inf, 65504.0]


@pytest.mark.parametrize(("dtype", "kept"), [("float64", "float32"), ("float32", "bfloat16"), ("float32", "float16")])
def test_what_rounds_at_random_rounds_otherwise_each_time_and_by_its_seed(dtype, kept):
    backend = load_backend_class("numpy")(dtype=dtype, rounded_to=kept)

    def third(X):
        return X / 3.0

    def drawn(seed):
        with backend.rounding_at_random(seed):
            return backend.apply(third, np.ones(64))

    nearest, place = backend.apply(third, np.ones(64)), last_place(np.array(1.0 / 3.0), kept)
    assert len(np.unique(nearest)) == 1 and len(np.unique(drawn(0))) == 2
    assert (drawn(0) == drawn(0)).all() and (drawn(0) != drawn(1)).any()
    assert np.abs(drawn(0) - 1.0 / 3.0).max() < place


def test_sums_in_turn_lose_each_term_that_is_below_half_of_a_last_place():
    """2^24 + 1 is 2^24 in float32, each time that a 1 is added; in batches and written into a given array too."""
    one, many = np.ones((1, 5), "float32"), np.array([[2.0**24], [1.0], [1.0], [1.0], [1.0]], "float32")
    with summing_in_turn():
        assert product(one, many) == 2.0**24
        factors = np.random.default_rng(0).standard_normal((2, 4, 3)).astype("float32")
        given = np.empty((2, 4, 4), "float32")
        assert product(factors, factors.swapaxes(1, 2), out=given) is given
    np.testing.assert_allclose(given, factors @ factors.swapaxes(1, 2), rtol=1e-5, atol=1e-6)


def test_every_operation_of_the_rounding_backend_rounds():
    """(1 + 2^-8) + 2^-8 is 1 + 2^-7 at once, and 1 when each step is rounded to bfloat16."""
    backend = load_backend_class("numpy")(rounded_to="bfloat16")

    def twice(X, Y):
        return X + Y + Y

    assert backend.apply(twice, np.array([1.0]), np.array([2.0**-8]))[0] == 1.0


def test_a_float16_softmax_does_not_overflow():
    backend = load_backend_class("numpy")(rounded_to="float16")
    weights = backend.apply(backend.masked_softmax, np.array([[[20.0, 20.0]]]))
    np.testing.assert_array_equal(weights, [[[0.5, 0.5]]])
