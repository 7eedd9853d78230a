"""What the verdict lets pass and what it does not, by figures written out by hand."""

import numpy as np
import pytest

from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.verdict.bands import Curve, band, divergence
from transformer_mb.parity.verdict.limits import Baseline, judge
from transformer_mb.parity.verdict.measure import error, gradient_errors

EPS32 = 2.0**-23


def test_the_error_is_relative_to_the_norm():
    assert error([3.0, 4.4], [3.0, 4.0]) == pytest.approx(0.4 / 5.0)


def test_a_small_output_is_measured_against_the_floor():
    assert error(np.full(4, 1e-6), np.zeros(4)) == pytest.approx(2e-6 / (1e-2 * 2.0))


def test_a_permuted_array_has_the_same_mean_and_is_an_error():
    assert error([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) > 0.5


def test_shapes_that_would_broadcast_do_not_pass():
    with pytest.raises(AssertionError, match=r"shape \[2, 3\] was expected, got \[1, 3\]"):
        error(np.zeros((1, 3)), np.zeros((2, 3)))


def test_a_tiny_gradient_is_measured_against_the_whole():
    got, exact = {"a": np.array([1e-9]), "b": np.array([1.0])}, {"a": np.array([0.0]), "b": np.array([1.0])}
    assert gradient_errors(got, exact) == pytest.approx(1e-9 / 1e-2)


@pytest.mark.parametrize("row", LADDER)
def test_float64_has_fixed_limits(row):
    assert judge(row, "float64", 0.99 * LADDER[row].limit, Baseline()).passed
    assert not judge(row, "float64", 1.01 * LADDER[row].limit, Baseline()).passed


def test_ill_conditioned_inputs_move_the_proof_by_what_they_lose():
    lose_a_thousand = Baseline(copies=1000 * 2.0**-52)
    assert judge("layer forward", "float64", 9.9e-10, lose_a_thousand).passed
    assert not judge("layer forward", "float64", 1.1e-9, lose_a_thousand).passed


@pytest.mark.parametrize(
    ("baseline", "limit"),
    [
        (Baseline(numpy=1e-6), 4e-6),
        (Baseline(numpy=1e-9), 12 * EPS32),
        (Baseline(numpy=1e-6, copies=2e-6), 8e-6),
        (Baseline(numpy=1e-3), 1e-5),
        (Baseline(numpy=1e-3, rounding=1e-4), 4e-4),
        (Baseline(numpy=1e-3, copies=5e-5), 2e-4),
    ],
    ids=["NumPy", "floor", "copies", "cap", "rounding lifts the cap", "copies lift the cap"],
)
def test_float32_is_held_to_numpy(baseline, limit):
    assert judge("layer forward", "float32", 0.99 * limit, baseline).passed
    verdict = judge("layer forward", "float32", 1.01 * limit, baseline)
    assert not verdict.passed and verdict.limit == pytest.approx(limit)


def test_low_precision_is_held_to_rounded_numpy():
    assert judge("layer forward", "bfloat16", 0.019, Baseline(numpy=0.01)).passed
    assert not judge("layer forward", "bfloat16", 0.021, Baseline(numpy=0.01)).passed


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_never_passes(dtype, value):
    verdict = judge("layer forward", dtype, value, Baseline(numpy=value, copies=value))
    assert not verdict.passed


def test_a_figure_says_what_makes_it_fine():
    assert judge("layer forward", "float32", 1.3e-6, Baseline(numpy=1e-6)).reason == "1.3e-06; 1.3x NumPy float32; limit 4x"
    assert judge("layer forward", "float64", 2e-16, Baseline()).reason == "2.0e-16; limit 1e-12"


def test_a_run_inside_ten_times_the_band_passes():
    allowed = band("float64", np.array([1e-12, 1e-9]), np.array([1e-10, 1e-11]))
    np.testing.assert_allclose(allowed, [1e-10, 1e-9])
    assert Curve(np.array([9e-10, 9e-9]), allowed).judge().passed
    verdict = Curve(np.array([1e-10, 1.1e-8]), allowed).judge()
    assert not verdict.passed and verdict.error == 1.1e-8 and verdict.limit == pytest.approx(1e-8)
    assert "at step 1" in verdict.reason


def test_the_band_never_narrows_and_never_excludes_rounding():
    np.testing.assert_allclose(band("float32", np.array([0.0, 1e-3, 1e-5])), [3 * EPS32, 1e-3, 1e-3])


def test_a_run_that_ends_in_nan_fails():
    verdict = Curve(divergence(np.array([1.0, np.nan]), np.ones(2)), np.ones(2)).judge()
    assert not verdict.passed and verdict.reason == "not finite at step 1"
