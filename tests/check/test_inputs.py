"""Inputs and weights that are drawn, and subjects: what they are, and what is refused."""

import numpy as np
import pytest

from transformer_mb import check
from transformer_mb.check.cases import Case, drawn_weights
from transformer_mb.check.inputs import check_inputs, drawn
from transformer_mb.errors import ConfigError

INPUTS = {
    "x": check.floats("B", "T", 4, scale=3.0, mean=10.0),
    "ids": check.ids("B", "T", below=5),
    "lens": check.lengths("B", up_to="T"),
    "mask": check.masks("B", "T", true=0.1),
    "given": np.arange(3.0),
}
SIZES = {"B": 40, "T": 7}


def test_drawn_inputs_are_what_was_asked_for():
    found = drawn(INPUTS, SIZES, 1)
    assert found["x"].shape == (40, 7, 4) and abs(found["x"].mean() - 10) < 0.5 and 2.5 < found["x"].std() < 3.5
    assert np.array_equal(found["x"], found["x"].astype(np.float32))
    assert set(np.unique(found["ids"])) == set(range(5)) and found["ids"].dtype == np.int64
    assert found["lens"].min() >= 1 and found["lens"].max() == 7
    assert found["mask"].any(-1).all() and found["mask"].mean() < 0.4
    assert found["given"] is INPUTS["given"]


def test_something_is_always_masked_and_some_length_is_shorter():
    inputs = {"mask": check.masks(1, 2, true=0.9), "lens": check.lengths(2, up_to=2)}
    every = [drawn(inputs, {}, seed) for seed in range(50)]
    assert all(found["mask"].sum() == 1 and sorted(found["lens"]) == [1, 2] for found in every)


def test_a_seed_draws_the_same_again_and_another_draws_others():
    one, again, other = (drawn(INPUTS, SIZES, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], again[name]) for name in INPUTS)
    assert not any(np.array_equal(one[name], other[name]) for name in INPUTS if name != "given")


@pytest.mark.parametrize(
    ("inputs", "sizes", "words"),
    [
        ({}, {}, "must have inputs"),
        ({"x": [1.0]}, {}, "The input x must be"),
        ({"x": check.floats("B")}, {}, r"letters \['B'\], got \[\]"),
        ({"x": check.floats("B")}, {"B": 0}, "whole numbers from 1"),
        ({"x": check.floats("B")}, {"B": 2, "T": 3}, r"got \['B', 'T'\]"),
        ({"x": check.lengths(2, up_to="T")}, {}, r"letters \['T'\]"),
    ],
)
def test_wrong_inputs_are_refused(inputs, sizes, words):
    with pytest.raises(ConfigError, match=words):
        check_inputs(inputs, sizes)


def test_weights_are_drawn_as_large_as_those_that_were_made_and_never_all_the_same():
    made = {"kernel": 0.02 * np.random.default_rng(0).standard_normal((50, 50)), "scale": np.ones(500), "bias": np.zeros(500)}
    found = drawn_weights(made, 3)
    assert found["kernel"].std() == pytest.approx(0.02, rel=0.1)
    assert found["scale"].min() >= 0.7 and found["scale"].max() <= 1.3 and found["scale"].std() > 0.1
    assert abs(found["bias"]).max() <= 0.3 and found["bias"].std() > 0.1


def test_a_copy_is_off_by_one_unit_in_the_last_place():
    case = Case({"w": np.array([1.0, -3.0, 0.0])}, {"x": np.array([7.0]), "ids": np.array([3])}, 5)
    copy = case.copy("float32", 1)
    assert np.all(np.abs(copy.weights["w"] - case.weights["w"]) <= 2.0**-22 * 3) and np.all(
        copy.weights["w"][:2] != [1.0, -3.0]
    )
    assert copy.weights["w"][2] == 0.0 and copy.inputs["ids"] is case.inputs["ids"]


def test_a_subject_is_the_same_after_json():
    one = check.keras("mylib:Block", 4, sizes=(3, 3)).on("jax").compiled().dtype("bfloat16").calling("x", "x", mask=None)
    assert check.Subject.from_dict(one.to_dict()) == one
    assert str(one) == "keras mylib:Block(4, sizes=(3, 3)) on jax compiled in bfloat16"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: check.torch("mylib.Block"), "module:attribute"),
        (lambda: check.torch("mylib:Block", object()), "plain Python values"),
        (lambda: check.torch("mylib:Block").on("jax"), "Keras alone"),
        (lambda: check.keras("mylib:Block").on("theano"), "'theano'"),
        (lambda: check.torch("mylib:Block").dtype("int3"), "'int3'"),
        (lambda: check.Subject("caffe", "a:b"), "'caffe'"),
        (lambda: check.Subject.from_dict({"kind": "torch", "factory": "a:b", "arguments": "__import__('os')"}), "to_dict"),
    ],
)
def test_a_wrong_subject_is_refused(make, words):
    with pytest.raises(ConfigError, match=words):
        make()
