"""Pairs of layers that are not ours: no false alarm on what computes the same, and each planted mistake caught and named.

The quick run has a sample of each claim. The long one has all pairs, seeds and mistakes: `make test-long TESTS=tests/check`.
"""

from dataclasses import replace

import pytest

from check.pairs.planting import MISTAKES, NO_MISTAKES
from check.pairs.table import LAYERS, PAIRS
from transformer_mb import check
from transformer_mb.check.way import way_of

REFERENCE = PAIRS["nnx-encoder"].reference
PERMUTED = replace(
    PAIRS["nnx-encoder"], candidate=check.torch(f"{LAYERS / 'permuted.py'}:EncoderLayer"), weights=None, sizes={"B": 5, "T": 4}
)
FEW = ("paddle-attention",)  # whose processes start soonest


def opened(pair, **options):
    how = {"weights": pair.weights, "inputs": pair.inputs, "sizes": pair.sizes, **pair.options, **options}
    return check.opened(pair.reference, pair.candidate, **how)


def alarms(pair, seeds):
    """The figures that fail, in words, of so many draws."""
    with opened(pair) as session:
        found = [(seed, one) for seed in range(seeds) for one in check.judge(session, session.draw(seed))]
    assert len(found) >= seeds
    return [f"seed {seed}: {one.dtype} {one.part}: {one.reason}" for seed, one in found if not one.passed]


@pytest.mark.parametrize("name", FEW)
def test_a_pair_that_computes_the_same_is_not_called_different(name):
    assert not alarms(PAIRS[name], 3)


@pytest.mark.long
@pytest.mark.parametrize("name", PAIRS)
def test_fifty_seeds_of_a_pair_give_no_false_alarm(name):
    assert not alarms(PAIRS[name], 50)


def test_a_layer_is_the_same_as_itself_with_its_batch_permuted():
    assert not alarms(PERMUTED, 10)


@pytest.mark.long
def test_a_thousand_draws_of_a_layer_with_its_batch_permuted_give_no_false_alarm():
    assert not alarms(PERMUTED, 1000)


def test_enough_mistakes_are_planted_and_nearly_all_must_be_named_and_show_in_float32():
    """At least 55 of 60 mistakes must be named, and 58 show in float32; the table is held to these shares."""
    assert len(MISTAKES) >= 60 and len({str(one) for one in MISTAKES}) == len(MISTAKES)
    assert sum(one.named for one in MISTAKES) >= 55 / 60 * len(MISTAKES)
    assert sum(one.in_float32 for one in MISTAKES) >= 58 / 60 * len(MISTAKES)
    assert {one.pair for one in MISTAKES} == set(PAIRS)


def check_mistake(mistake, folder):
    with opened(mistake.planted(folder)) as session:
        case = session.draw(0)
        figures, way = check.judge(session, case), way_of(session, case)
    caught = {dtype: [one.part for one in figures if not one.passed and one.dtype == dtype] for dtype in session.dtypes}
    assert caught["float64"], "it must be caught in float64"
    assert bool(caught[session.dtypes[-1]]) == mistake.in_float32, caught
    assert way is not None and (way.module == mistake.module) == mistake.named, f"{way} for {mistake.module!r}"


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one.pair in FEW], ids=str)
def test_a_planted_mistake_is_caught_and_named(mistake, tmp_path):
    check_mistake(mistake, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_each_planted_mistake_is_caught_and_named(mistake, tmp_path):
    check_mistake(mistake, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("change", NO_MISTAKES, ids=str)
def test_a_change_that_cannot_matter_is_no_mistake(change, tmp_path):
    assert not alarms(change.planted(tmp_path), 5)
