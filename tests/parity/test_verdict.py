"""What the verdict lets pass and what it does not, by figures written out by hand."""

import numpy as np
import pytest

from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.verdict import limits
from transformer_mb.parity.verdict.bands import FLOAT32_RUNS, Band, Curve, band, divergence
from transformer_mb.parity.verdict.comparison import Comparison
from transformer_mb.parity.verdict.limits import Baseline, Errors, error, errors, gradient_errors, judge, meets_the_cap

EPS32 = 2.0**-23


def both(value):
    """Of a single number: by norm and of its only element alike."""
    return Errors(value, value)


def by_norm(value):
    return Errors(value, 0.0)


def in_one_element(value):
    return Errors(0.0, value)


def test_the_error_is_relative_to_the_norm():
    assert error([3.0, 4.4], [3.0, 4.0]) == pytest.approx(0.4 / 5.0)


def test_a_small_output_is_measured_against_the_floor():
    assert error(np.full(4, 1e-6), np.zeros(4)) == pytest.approx(2e-6 / (1e-2 * 2.0))


def test_the_element_that_is_furthest_off_is_relative_to_the_root_mean_square():
    assert errors([3.0, 4.4], [3.0, 4.0]).element == pytest.approx(0.4 / (5.0 / np.sqrt(2.0)))
    assert errors(np.full(4, 1e-6), np.zeros(4)).element == pytest.approx(1e-6 / 1e-2)


def test_a_permuted_array_has_the_same_mean_and_is_an_error():
    assert error([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) > 0.5


def test_shapes_that_would_broadcast_do_not_pass():
    with pytest.raises(AssertionError, match=r"shape \[2, 3\] was expected, got \[1, 3\]"):
        error(np.zeros((1, 3)), np.zeros((2, 3)))


def test_a_tiny_gradient_is_measured_against_the_whole():
    got, exact = {"a": np.array([2e-9]), "b": np.array([1.0])}, {"a": np.array([1e-9]), "b": np.array([1.0])}
    assert gradient_errors(got, exact)["a"] == pytest.approx(both(1e-9 / 1e-2))


@pytest.mark.parametrize("zero", [0.0, 2e-18])
def test_a_gradient_of_zero_is_measured_against_all_of_the_whole(zero):
    """It is zero by cancelling, in float64 up to rounding, which leaves noise of the whole in another implementation."""
    got, exact = {"a": np.array([1e-9]), "b": np.array([1.0])}, {"a": np.array([zero]), "b": np.array([1.0])}
    assert gradient_errors(got, exact)["a"] == pytest.approx(both(1e-9))
    assert gradient_errors(got, exact, least=10.0)["a"] == pytest.approx(both(1e-10))


@pytest.mark.parametrize("row", [row.name for row in LADDER.values() if row.limit])
def test_float64_has_fixed_limits(row):
    limit = LADDER[row].limit
    for figure, times in ((by_norm, 1.0), (in_one_element, limits.TIMES_NORM)):
        assert judge(row, "float64", figure(0.99 * times * limit), Baseline()).passed
        verdict = judge(row, "float64", figure(1.01 * times * limit), Baseline())
        assert not verdict.passed and (verdict.error, verdict.limit) == (1.01 * times * limit, pytest.approx(times * limit))


# Shapes of a long sequence's output and of a bias; one number of 1e-9 that no norm of float64's rows would always show.
@pytest.mark.parametrize("shape", [(1, 512, 8), (4096,)])
@pytest.mark.parametrize("row", [row.name for row in LADDER.values() if row.measured in ("outputs", "gradients", "update")])
def test_one_wrong_number_fails_in_float64(row, shape):
    exact = np.random.default_rng(0).standard_normal(shape)
    got = exact.copy()
    got.flat[1234] += 1e-9
    verdict = judge(row, "float64", errors(got, exact), Baseline())
    assert not verdict.passed and "in one element" in verdict.reason
    assert judge(row, "float64", errors(exact * (1.0 + 1e-14), exact), Baseline()).passed


def test_one_number_off_by_twenty_eps_fails_in_float32():
    """Of 100,000; a norm alone would let it pass."""
    exact = np.random.default_rng(0).standard_normal(100_000)
    numpy = exact.astype(np.float32)
    got = numpy.copy()
    got[1234] += 20 * EPS32
    allowed = Baseline(numpy=errors(numpy, exact), rounding=errors(numpy, exact))
    off = errors(got, exact)
    assert judge("layer forward", "float32", errors(numpy, exact), allowed).passed
    assert judge("layer forward", "float32", by_norm(off.norm), allowed).passed
    verdict = judge("layer forward", "float32", off, allowed)
    assert not verdict.passed and "in one element" in verdict.reason


def test_ill_conditioned_inputs_move_the_proof_by_what_they_lose():
    lose_a_thousand = Baseline(copies=both(1000 * 2.0**-52))
    for figure in (by_norm, in_one_element):
        assert judge("layer forward", "float64", figure(9.9e-10), lose_a_thousand).passed
        assert not judge("layer forward", "float64", figure(1.1e-9), lose_a_thousand).passed


@pytest.mark.parametrize(
    ("baseline", "limit"),
    [
        ({"numpy": 1e-6}, 4e-6),
        ({"numpy": 1e-9}, 12 * EPS32),
        ({"numpy": 1e-6, "copies": 2e-6}, 8e-6),
        ({"numpy": 1e-3}, 1e-5),
        ({"numpy": 1e-3, "rounding": 1e-4}, 4e-4),
        ({"numpy": 1e-3, "copies": 5e-5}, 2e-4),
    ],
    ids=["NumPy", "floor", "copies", "cap", "rounding lifts the cap", "copies lift the cap"],
)
def test_float32_is_held_to_numpy(baseline, limit):
    for figure in (by_norm, in_one_element):
        # The cap alone is no figure of NumPy's: it is a fixed limit, as those of float64 are.
        times = limits.TIMES_NORM if figure is in_one_element and limit == 1e-5 else 1.0
        allowed = Baseline(**{name: figure(value) for name, value in baseline.items()})
        assert judge("layer forward", "float32", figure(0.99 * times * limit), allowed).passed
        verdict = judge("layer forward", "float32", figure(1.01 * times * limit), allowed)
        assert not verdict.passed and verdict.limit == pytest.approx(times * limit)


def test_small_gradients_are_capped_at_the_rounding_of_the_whole():
    """1e-2 of the whole gradient is what they are measured against: three eps of the whole are 300 of that."""
    allowed = Baseline(numpy=by_norm(1e-3))
    assert judge("model gradients", "float32", by_norm(1e-3), allowed).limit == pytest.approx(300 * EPS32)
    assert judge("model forward", "float32", by_norm(1e-3), allowed).limit == pytest.approx(1e-5)


def test_the_figure_that_takes_more_of_its_limit_is_the_one_that_is_told():
    allowed = Baseline(numpy=Errors(1e-6, 3e-6))
    verdict = judge("layer forward", "float32", Errors(1e-6, 2.9e-6), allowed)
    assert (verdict.error, verdict.share) == (1e-6, pytest.approx(0.25)) and "by norm" in verdict.reason
    verdict = judge("layer forward", "float32", Errors(1e-6, 3.1e-6), allowed)
    assert verdict.error == 3.1e-6 and "in one element" in verdict.reason


def test_low_precision_is_held_to_rounded_numpy():
    for figure in (by_norm, in_one_element):
        assert judge("layer forward", "bfloat16", figure(0.019), Baseline(numpy=figure(0.01))).passed
        assert not judge("layer forward", "bfloat16", figure(0.021), Baseline(numpy=figure(0.01))).passed


def test_low_precision_has_a_cap():
    """A gradient of zeros has an error of 1 by norm."""
    for figure, cap in ((by_norm, 0.3), (in_one_element, 1.5)):
        lost = Baseline(numpy=figure(10.0))
        assert judge("model gradients", "bfloat16", figure(0.99 * cap), lost).passed
        verdict = judge("model gradients", "bfloat16", figure(1.01 * cap), lost)
        assert not verdict.passed and verdict.limit == pytest.approx(cap) and verdict.reason.endswith(f"limit {cap}")


def of_arrays(number, worst=0.1, others=0.01):
    """One array of which much is lost, and beside it some of which little is."""
    return {"worst": both(worst), **{f"other {n}": both(others) for n in range(number)}}


def judged_by_array(off):
    lost = of_arrays(15)
    return judge("layer gradients", "bfloat16", both(0.1), Baseline(numpy=both(0.1), arrays=lost), off)


def test_each_array_is_held_to_its_own_yardstick():
    """The worst one's would let it be off by 0.2."""
    for times, passed in ((3.9, True), (4.1, False)):
        verdict = judged_by_array({**of_arrays(15), "other 3": both(times * 0.01)})
        assert verdict.passed == passed and verdict.limit == pytest.approx(0.04)
    assert "of other 3; 4.1x rounded NumPy there; limit 4x" in verdict.reason


def test_all_arrays_together_are_held_to_their_yardsticks():
    assert judged_by_array(of_arrays(15, 0.19, 0.019)).passed
    verdict = judged_by_array(of_arrays(15, 0.1, 0.021))
    assert not verdict.passed and "over 16 arrays; 2x rounded NumPy in each; limit 2x" in verdict.reason
    assert verdict.error / verdict.limit == pytest.approx(np.sqrt((15 * 2.1**2 + 1.0) / 16) / 2.0)


def test_an_array_without_rounding_has_the_formats_last_place():
    lost, off = of_arrays(15, others=0.0), {**of_arrays(15, others=0.0), "other 3": both(3.9 * 2.0**-7)}
    verdict = judge("layer gradients", "bfloat16", both(0.1), Baseline(numpy=both(0.1), arrays=lost), off)
    assert verdict.share == pytest.approx(3.9 / 4.0)


def test_a_loss_in_low_precision_has_the_floor_of_float32():
    """The format's eps would pass a loss that was rounded to the format."""
    assert judge("model loss", "bfloat16", both(5.9 * EPS32), Baseline()).passed
    assert not judge("model loss", "bfloat16", both(6.1 * EPS32), Baseline()).passed
    assert judge("model gradients", "bfloat16", both(1.9 * 2.0**-7), Baseline()).passed


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_never_passes(dtype, value):
    for figure in (by_norm, in_one_element):
        assert not judge("layer forward", dtype, figure(value), Baseline(numpy=figure(value), copies=figure(value))).passed
        assert not judge("layer forward", dtype, figure(value), Baseline()).passed


def test_a_figure_says_what_makes_it_fine():
    verdict = judge("layer forward", "float32", both(1.3e-6), Baseline(numpy=both(1e-6)))
    assert verdict.reason == "1.3e-06 in one element; 1.3x NumPy float32; limit 4x"
    assert judge("layer forward", "float64", by_norm(2e-16), Baseline()).reason == "2.0e-16 by norm; limit 1e-12"


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


class CountedBand(Band):
    """Whose run number n strays by n times 1e-4 at the last of two steps."""

    def _divergence(self, number):
        self.divergences.append(np.array([0.0, 1e-4 * number]))
        return self.divergences[number]


@pytest.mark.parametrize(("strays", "runs"), [(1e-7, 0), (1e-4, 2), (1e-3, 3), (0.0101, 16), (1.0, 16), (np.nan, 0)])
def test_a_band_takes_no_more_runs_than_a_curve_needs(strays, runs):
    """Half its limit is enough; the verdict is that of all runs."""
    counted, whole = CountedBand("float32", {}, None), CountedBand("float32", {}, None)
    curve = counted.around(np.array([0.0, strays]))
    assert len(counted.divergences) == runs
    every = Curve(curve.divergence, band("float32", *[whole._divergence(number) for number in range(FLOAT32_RUNS)]))
    assert curve.judge().passed == every.judge().passed


class Drawn(Comparison):
    """NumPy errs by 1e-6 in few draws, and by twice that in more."""

    judged_in = "float32"

    def __init__(self):
        self.asked = []

    def baseline(self, row, copies=limits.PERTURBED_COPIES):
        self.asked.append(copies)
        figure = both(1e-6 if copies == limits.PERTURBED_COPIES else 2e-6)
        return Baseline(figure, both(EPS32), figure)


@pytest.mark.parametrize(
    ("off", "passed", "asked"),
    [
        (3.9e-6, True, [limits.PERTURBED_COPIES]),
        (7.9e-6, True, [limits.PERTURBED_COPIES, limits.MORE_COPIES]),
        (8.1e-6, False, [limits.PERTURBED_COPIES, limits.MORE_COPIES]),
        (4.1e-5, False, [limits.PERTURBED_COPIES]),  # ten times the limit: no number of draws helps
        (np.nan, False, [limits.PERTURBED_COPIES]),
        (np.inf, False, [limits.PERTURBED_COPIES]),
    ],
)
def test_what_is_over_its_limit_by_little_is_judged_again_by_more_draws(off, passed, asked):
    drawn = Drawn()
    assert (drawn._judged("layer forward", {"output": both(off)}).passed, drawn.asked) == (passed, asked)


@pytest.mark.parametrize(
    ("dtype", "baseline", "met"),
    [
        ("float32", Baseline(numpy=by_norm(2.4e-6)), False),  # four times that is just within the cap of 1e-5
        ("float32", Baseline(numpy=by_norm(2.6e-6)), True),
        ("float32", Baseline(numpy=in_one_element(1.2e-5)), False),  # in one element five times as much
        ("float32", Baseline(numpy=in_one_element(1.3e-5)), True),
        ("float32", Baseline(numpy=by_norm(2.6e-6), copies=by_norm(2.7e-6)), False),  # which raise the cap
        ("bfloat16", Baseline(numpy=by_norm(0.14)), False),  # twice that is just within 0.3
        ("bfloat16", Baseline(numpy=by_norm(0.16)), True),
        ("float64", Baseline(numpy=by_norm(1.0)), False),  # held to fixed limits
    ],
)
def test_a_case_that_meets_its_cap_allows_less_than_every_backend_is_to_have(dtype, baseline, met):
    assert meets_the_cap("model loss", dtype, baseline) is met


def test_one_confident_token_has_a_loss_of_which_float32_knows_little():
    """With a logit that is eight above the other the loss is 3.4e-4, and eps beside 1 is 3.5e-4 of it."""
    exact, float32 = np.log1p(np.exp(-8.0)), float(np.log(np.float32(1.0) + np.exp(np.float32(-8.0))))
    assert abs(float32 / exact - 1.0) > 1e-5
