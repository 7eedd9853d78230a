"""The statistics of `compare runs`: numbers of known answer, another implementation, and false alarms."""

import math

import numpy as np
import pytest
import scipy.stats

from transformer_mb.compare.training.statistics import holm, paired, sign_flip
from transformer_mb.compare.training.verdicts import false_alarms, lines, verdict

REFERENCE = [0.0, 1.0, 2.0, 3.0, 4.0]  # deviation sqrt(2.5)
NORMAL = np.random.default_rng(7).normal(size=12)


def judged(reference, candidate, **options):
    (line,) = lines("loss", list(reference), {"other": list(candidate)}, **options)
    return line


def test_a_difference_by_hand():
    """Differences 1 to 5 against a deviation of sqrt(2.5): mean 3, deviation sqrt(2.5) as well, t = 3 sqrt(5 / 2.5)."""
    found = paired([value + value + 1 for value in REFERENCE], REFERENCE)
    assert math.isclose(found.unit, math.sqrt(2.5)) and math.isclose(found.mean, 3 / math.sqrt(2.5))
    assert math.isclose(found.deviation, 1.0)
    half = 2.131846786 / math.sqrt(5)  # the t table: 4 degrees of freedom, 5 % beyond
    assert math.isclose(found.low, found.mean - half, rel_tol=1e-8) and math.isclose(
        found.high, found.mean + half, rel_tol=1e-8
    )
    assert found.sign_flip == 2 / 2**5  # all signs alike, or all turned


@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
def test_the_tests_are_those_of_scipy(shift):
    other = np.random.default_rng(1).normal(shift, size=12)
    found, unit = paired(other, NORMAL), NORMAL.std(ddof=1)
    assert math.isclose(found.p, scipy.stats.ttest_rel(other, NORMAL).pvalue, rel_tol=1e-9)
    differences = (other - NORMAL) / unit
    for margin in (0.2, 0.8, 1.25, 2.0):
        above = scipy.stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
        below = scipy.stats.ttest_1samp(differences, margin, alternative="less").pvalue
        assert found.is_within(margin) == (max(above, below) < 0.05)


def test_signs_are_all_tried():
    """Of three differences the sum 6 has two signs out of eight as far out, 1 + 2 - 3 = 0 has all."""
    assert sign_flip(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert sign_flip(np.array([1.0, 2.0, -3.0])) == 1.0


@pytest.mark.parametrize("count", [5, 8, 12])
def test_the_signs_are_those_of_scipy(count):
    differences = np.random.default_rng(count).normal(0.5, size=count)
    theirs = scipy.stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(differences) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_of_many_pairs_some_signs_are_drawn():
    rng = np.random.default_rng(0)
    assert sign_flip(rng.normal(2.0, size=20)) < 0.001 < 0.05 < sign_flip(rng.normal(0.0, size=20))


def test_holm():
    assert np.allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_what_could_be_seen_is_seen_four_times_in_five():
    """By the noncentral t distribution, which the sum of two quantiles comes near."""
    found = paired(np.random.default_rng(2).normal(size=12), NORMAL)
    for family in (1, 5):
        shift = found.detectable(family) / (found.deviation / math.sqrt(12))
        critical = scipy.stats.t.isf(0.025 / family, 11)
        assert 0.77 < scipy.stats.nct.sf(critical, 11, shift) < 0.83


@pytest.mark.parametrize("margin", [0.25, 0.5])
def test_as_many_seeds_are_needed_as_the_normal_approximation_says(margin):
    """8.6 / m^2 for equivalence at a power of 0.8, (1.645 + 1.282)^2, in deviations of the differences."""
    differences = np.tile([1.0, -1.0], 6)
    found = paired(NORMAL + differences * NORMAL.std(ddof=1), NORMAL)
    needed = found.needed(margin * found.deviation, 1)
    assert 8.56 / margin**2 <= needed <= 8.56 / margin**2 + 3


def test_undecided_says_how_many_seeds_decide():
    line = judged(NORMAL, np.random.default_rng(3).normal(size=12), margin=0.5)
    assert line.verdict == "undecided" and line.needs > 12


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (NORMAL, "same"),
        (NORMAL + 1e-9, "same"),
        (NORMAL + 1e-9 * np.arange(12, 24), "same"),  # certain, and a billionth of what a seed does
        (NORMAL + 3.0, "different"),  # every pair by exactly as much: nothing is divided by 0
        (NORMAL + 3.0 + 0.1 * NORMAL[::-1], "different"),
        (np.full(12, np.nan), "different"),
    ],
)
def test_verdicts(candidate, expected):
    assert judged(NORMAL, candidate).verdict == expected


def test_a_certain_shift_within_the_margin_is_no_difference():
    line = judged(NORMAL, NORMAL + 1e-9 * np.arange(12, 24))
    assert line.p < 1e-6 and line.sign_flip < 0.001 and line.verdict == "same"


def test_a_reference_without_any_noise():
    flat = np.full(12, 0.5)
    assert judged(flat, flat).verdict == "same"
    assert judged(flat, flat + 1e-8 * NORMAL).verdict == "same"  # rounding
    assert judged(flat, flat + 0.1).verdict == "different"
    assert judged(np.zeros(12), np.zeros(12)).verdict == "same"


def test_fewer_than_five_seeds_have_no_verdict():
    line = judged(NORMAL[:4], NORMAL[:4] + 9.0)
    assert line.verdict == "no verdict" and line.difference is None and "5 seeds" in line.reason


def test_five_seeds_can_find_sameness_alone():
    line = judged(NORMAL[:5], NORMAL[:5] + 9.0)
    assert line.verdict == "undecided" and line.needs == 6
    assert judged(NORMAL[:5], NORMAL[:5]).verdict == "same"


def test_a_family_makes_a_verdict_harder():
    barely = NORMAL + np.random.default_rng(10).normal(1.6, 1.5, size=12)
    one = lines("loss", NORMAL, {"a": barely}, 0.1)[0]
    many = lines("loss", NORMAL, {"a": barely} | {str(i): NORMAL for i in range(60)}, 0.1)[0]
    assert one.verdict == "different" and many.verdict == "undecided" and many.detectable > one.detectable


DRAWS = {
    "normal": lambda rng: rng.normal(size=12),
    "skewed": lambda rng: rng.lognormal(0.0, 2.0, size=12),
    "ties": lambda rng: rng.integers(0, 3, size=12).astype(float),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_a_reference_is_seldom_different_from_itself(draw):
    rng = np.random.default_rng(4)
    assert np.mean([false_alarms(DRAWS[draw](rng)) for _ in range(5)]) <= 0.05


@pytest.mark.parametrize("draw", ["normal", "skewed"])
def test_two_draws_of_one_distribution_are_seldom_different(draw):
    rng = np.random.default_rng(5)
    found = [paired(DRAWS[draw](rng), DRAWS[draw](rng)) for _ in range(100)]
    assert np.mean([verdict(one, one.p, 1.25) == "different" for one in found]) <= 0.05
    shifted = [paired(DRAWS["normal"](rng) + 3.0, DRAWS["normal"](rng)) for _ in range(20)]
    assert np.mean([verdict(one, one.p, 1.25) == "different" for one in shifted]) >= 0.95


def test_few_seeds_cannot_be_split():
    assert false_alarms(NORMAL[:11]) is None
