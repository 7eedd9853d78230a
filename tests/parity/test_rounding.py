"""bfloat16, float16 and TF32 by their bits, and arithmetic rounded to them."""

import numpy as np
import pytest

from transformer_mb.registry import load_backend_class
from transformer_mb.rounding import rounded


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
