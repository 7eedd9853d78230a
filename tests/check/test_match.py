"""The map of weights that is proposed for a pair is the pair's own, or says what is ambiguous; it is never a wrong one."""

import numpy as np
import pytest

from check.pairs.table import PAIRS
from transformer_mb import check
from transformer_mb.check.weight_map import weight_map

MATCHED = [name for name, pair in PAIRS.items() if pair.weights]
FEW = ("paddle-attention",)


def check_proposal(name):
    pair = PAIRS[name]
    found = check.match(pair.reference, pair.candidate, inputs=pair.inputs, sizes=pair.sizes)
    how = {"weights": pair.weights, "inputs": pair.inputs, "sizes": pair.sizes, "gradients": False, **pair.options}
    with check.opened(pair.reference, pair.candidate, **how) as session:
        right, shapes, there = session.map, session.reference.names, session.candidate.names
    assert found.complete or found.ambiguous, str(found)
    proposed = weight_map(found.weights, shapes, there)
    wrong = [one for one in shapes if not np.array_equal(proposed.pairs[one].places, right.pairs[one].places)]
    doubted = {one for names in found.ambiguous for one in names}
    assert set(wrong) <= doubted, str(found)
    return found


@pytest.mark.parametrize("name", FEW)
def test_the_map_of_a_pair_is_found_and_can_be_pasted(name):
    found = check_proposal(name)
    pasted = {}
    exec(found.source(), {"check": check}, pasted)
    assert list(pasted["WEIGHTS"]) == list(PAIRS[name].weights) and found.complete


@pytest.mark.long
@pytest.mark.parametrize("name", MATCHED)
def test_the_map_of_each_pair_is_found(name):
    check_proposal(name)


def test_there_are_enough_pairs_to_match():
    assert len(MATCHED) >= 10
