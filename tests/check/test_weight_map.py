"""Weight maps: what they arrange, and what they refuse."""

import numpy as np
import pytest

from transformer_mb import check
from transformer_mb.check.weight_map import weight_map

HERE = {"packed": (6, 3), "bias": (3,), "cube": (2, 3, 4)}
THERE = {"q": (3, 3), "k": (3, 3), "b": (3,), "flat": (4, 6)}
MAP = {
    "packed": check.stack("q.T", check.weight("k") * 0.5),
    "bias": "b",
    "cube": check.weight("flat").reshape(4, 2, 3).transpose(1, 2, 0),
}


def arrays(shapes):
    random = np.random.default_rng(0)
    return {name: random.standard_normal(shape) for name, shape in shapes.items()}


def test_a_map_gives_the_candidate_what_its_expressions_turn_into_the_references_tensors():
    here = arrays(HERE)
    there = weight_map(MAP, HERE, THERE).to_candidate(here)
    np.testing.assert_allclose(np.concatenate([there["q"].T, 0.5 * there["k"]]), here["packed"])
    np.testing.assert_array_equal(there["b"], here["bias"])
    np.testing.assert_array_equal(there["flat"].reshape(4, 2, 3).transpose(1, 2, 0), here["cube"])


def test_gradients_come_back_by_the_chain_rule():
    """The derivative, by the reference's tensors, of a sum of products with the candidate's; by differences."""
    pairs, here, factors = weight_map(MAP, HERE, THERE), arrays(HERE), arrays(THERE)

    def loss(tensors):
        return sum(np.sum(factors[name] * value) for name, value in pairs.to_candidate(tensors).items())

    back = pairs.to_reference(factors)
    for name in HERE:
        for place in range(0, here[name].size, 3):
            moved = here[name].copy()
            moved.flat[place] += 1.0
            assert back[name].flat[place] == pytest.approx(loss({**here, name: moved}) - loss(here))


def test_a_gradient_of_which_a_part_is_missing_is_left_out():
    pairs = weight_map(MAP, HERE, THERE)
    assert set(pairs.to_reference({"q": np.zeros((3, 3)), "b": np.zeros(3)})) == {"bias"}


def test_no_map_pairs_equal_names():
    pairs = weight_map(None, THERE, THERE)
    there = arrays(THERE)
    assert all(np.array_equal(value, there[name]) for name, value in pairs.to_candidate(there).items())


def test_a_part_of_a_tensor_and_a_function_of_arrays_are_arrangements():
    given = {"one": check.weight("both")[0], "two": check.through(lambda x: x[1] * 2.0, "both")}
    there = weight_map(given, {"one": (3,), "two": (3,)}, {"both": (2, 3)}).to_candidate(
        {"one": np.arange(3.0), "two": np.arange(3.0) + 4}
    )
    np.testing.assert_array_equal(there["both"], [[0, 1, 2], [2, 2.5, 3]])


def test_what_is_kept_or_constant_needs_no_partner():
    given = {"packed": check.KEPT, "bias": 0.0, "cube": MAP["cube"], check.KEPT: ["q", "k", "b"]}
    pairs = weight_map(given, HERE, THERE)
    assert set(pairs.to_candidate(arrays(HERE))) == {"flat"} and pairs.constants == {"bias": 0.0}


WRONG = {
    "left": (
        {"packed": MAP["packed"], "bias": "b"},
        ["The weight map is incomplete: it must pair", "cube [2, 3, 4] of the reference", "flat [4, 6] of the candidate"],
    ),
    "unknown here": ({**MAP, "scale": "b"}, ["scale: the reference has no such tensor"]),
    "unknown there": ({**MAP, "bias": "c"}, ["bias [3] = c: the candidate has no tensor c"]),
    "shape": ({**MAP, "packed": check.stack("q", "k", axis=1)}, ["packed [6, 3]", "it has the shape [3, 6]"]),
    "twice": ({**MAP, "packed": check.stack("q", "q.T")}, ["q [3, 3] of the candidate is used more than once", "k [3, 3]"]),
    "in part": ({**MAP, "cube": 0.0, "bias": check.weight("flat")[0, :3]}, ["only in part used", "b [3] of the candidate"]),
    "a sum": ({**MAP, "packed": check.through(lambda q, k: np.concatenate([q + k, k]), "q", "k")}, ["sums of several"]),
    "nothing": ({**MAP, "bias": check.through(lambda b: 0 * b, "b")}, ["times 0"]),
    "an error": ({**MAP, "bias": check.weight("b").reshape(4)}, ["ValueError"]),
    "kept with a partner": ({**MAP, check.KEPT: ["b"]}, ["b [3] of the candidate is kept, but has a partner"]),
    "kept and unknown": ({**MAP, check.KEPT: ["z"]}, ["z: the candidate, which shall keep it, has no such tensor"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_map_that_is_not_complete_is_refused_with_all_that_is_left(case):
    given, words = WRONG[case]
    with pytest.raises(check.WeightMapError) as refused:
        weight_map(given, HERE, THERE)
    assert all(one in str(refused.value) for one in words), refused.value


def test_a_finished_map_is_taken_as_it_is_and_one_of_other_tensors_refused():
    pairs = weight_map(MAP, HERE, THERE)
    assert weight_map(pairs, HERE, THERE) is pairs
    with pytest.raises(check.WeightMapError, match="must be of these subjects"):
        weight_map(pairs, HERE, {"q": (3, 3)})
