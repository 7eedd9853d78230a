"""A candidate in whole numbers of eight bits is held to what these lose in the reference, and mistakes show beside that."""

import numpy as np
import pytest

from check.pairs.planting import MISTAKES
from check.pairs.table import PAIRS
from transformer_mb import check
from transformer_mb.check.eight_bits import on_grid
from transformer_mb.errors import ConfigError


def test_numbers_are_rounded_to_255_steps_of_which_the_largest_number_is_the_last():
    array = np.array([[127.0, -3.4, 0.6], [63.5, -0.2, 126.51]])
    assert np.array_equal(on_grid(array), [[127.0, -3.0, 1.0], [64.0, 0.0, 127.0]])
    assert np.array_equal(on_grid(array / 127.0) * 127.0, on_grid(array))


def test_vectors_and_zeros_stay():
    vector, zeros = np.array([0.3, 1.0]), np.zeros((2, 2))
    assert on_grid(vector) is vector and np.array_equal(on_grid(zeros), zeros)


@pytest.mark.parametrize(("subject", "kind"), [(check.flax("port:Block"), "int8"), (check.torch("port:Block"), "int4")])
def test_what_cannot_be_quantised_is_refused(subject, kind):
    with pytest.raises(ConfigError, match="for torch alone"):
        subject.quantized(kind)


def figures(pair, seeds):
    how = {"weights": pair.weights, "inputs": pair.inputs, "sizes": pair.sizes, "precisions": ("float32",)}
    with check.opened(pair.reference, pair.candidate, **how) as session:
        return [one for seed in range(seeds) for one in check.judge(session, session.draw(seed))]


def test_a_quantised_layer_passes_and_loses_far_more_than_float32():
    found = figures(PAIRS["int8"], 10)
    assert len(found) == 10 and {one.dtype for one in found} == {"int8"}
    assert all(one.passed for one in found), [one.reason for one in found]
    assert all(one.error > 1e-3 for one in found), "a run in float32 would lose 1e-7"


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one.pair == "int8"], ids=str)
def test_a_mistake_shows_beside_what_eight_bits_lose(mistake, tmp_path):
    found = figures(mistake.planted(tmp_path), 2)
    assert not any(one.passed for one in found), [one.reason for one in found]
