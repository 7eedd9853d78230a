"""The error function against math.erf, which has the platform's full precision."""

import math

import numpy as np
import pytest

from transformer_mb.backends.numpy.activations import erf

EDGES = [0.46875, 4.0, 6.0]


@pytest.mark.parametrize(("low", "high"), [(-6, 6), (-0.5, 0.5), (3.9, 4.1), (5.5, 40)])
def test_every_range(low, high):
    x = np.linspace(low, high, 20001)
    expected = np.array([math.erf(value) for value in x])
    got = erf(x)
    assert np.abs(got - expected).max() <= 2.3e-16  # two units in the last place below 1
    relative = np.abs(got - expected)[expected != 0.0] / np.abs(expected[expected != 0.0])
    assert relative.max() <= 1e-15


def test_edges_of_the_ranges_and_special_values():
    for edge in EDGES:
        for value in (np.nextafter(edge, 0.0), edge, np.nextafter(edge, 9.0)):
            assert erf(np.array([value, -value])) == pytest.approx([math.erf(value), -math.erf(value)], rel=5e-16)
    small = np.array([0.0, -0.0, 5e-324, 1e-300, 1e-9])
    assert erf(small) == pytest.approx([math.erf(value) for value in small], rel=5e-16, abs=0.0)
    assert np.signbit(erf(np.array([-0.0])))[0]
    np.testing.assert_array_equal(erf(np.array([np.inf, -np.inf, np.nan])), [1.0, -1.0, np.nan])


def test_shape_and_float32():
    x = np.linspace(-5, 5, 4000, dtype=np.float32).reshape(2, 20, 100).swapaxes(0, 1)
    got = erf(x)
    assert got.dtype == np.float32 and got.shape == x.shape
    expected = np.vectorize(math.erf)(x.astype(np.float64))
    assert np.abs(got - expected).max() <= 2.4e-7  # two epsilons
    assert erf(np.zeros((2, 0))).shape == (2, 0)
