"""The rule of drawing, and samplers that break it: each fails."""

import numpy as np
import pytest

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.backends.numpy import decoding as numpy_decoding
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.drawn_tokens import DrawnTokens, drawn_by, drawn_within

DTYPES = ("float32", "float64")
right, rule = numpy_decoding.uniforms, numpy_decoding.drawn


def found(dtype="float64", seed=0):
    (experiment,) = DrawnTokens.made(dtype, seed)
    backend = BACKEND(dtype=dtype)
    (result,) = experiment.run("numpy", lambda request: compute(backend, request))
    return result


LOGITS = np.log(np.array([0.1, 0.4, 0.2, 0.3]))  # in falling order the tokens 1, 3, 2, 0
EVERY = {"temperature": 1.0, "top_k": None, "top_p": 1.0}


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ({}, {0.0: 1, 0.39: 1, 0.41: 3, 0.69: 3, 0.71: 2, 0.89: 2, 0.91: 0, 0.999: 0}),
        ({"top_k": 2}, {0.0: 1, 0.57: 1, 0.58: 3, 0.999: 3}),
        ({"top_p": 0.65}, {0.57: 1, 0.58: 3, 0.999: 3}),
        ({"top_p": 0.75}, {0.44: 1, 0.45: 3, 0.77: 3, 0.78: 2, 0.999: 2}),
        ({"top_k": 2, "top_p": 0.5}, {0.999: 1}),  # 0.4 / 0.7 is more than the half
        ({"temperature": 0.5}, {0.53: 1, 0.54: 3, 0.83: 3, 0.84: 2, 0.96: 2, 0.97: 0}),  # 16, 9, 4 and 1 of 30
    ],
    ids=str,
)
def test_a_number_draws_the_token_of_the_rule(options, places):
    assert {number: drawn_by(number, LOGITS, EVERY | options) for number in places} == places


def test_a_near_tie_is_within_the_error_alone():
    assert drawn_within(0.399, 0.401, LOGITS, EVERY, 0.0) == {1, 3}
    assert drawn_within(0.38, 0.38, LOGITS, EVERY, 0.001) == {1}
    assert drawn_within(0.399, 0.399, LOGITS, EVERY, 0.001) == {1, 3}
    assert drawn_within(0.999, 0.999, LOGITS, EVERY | {"top_p": 0.7}, 0.001) == {3, 2}
    assert drawn_within(0.999, 0.999, LOGITS, EVERY | {"top_p": 0.65}, 0.001) == {3}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(2))
def test_numpy_draws_the_tokens_of_the_rule(dtype, seed):
    assert found(dtype, seed).status == PASSED


def one_token_more(logits, uniform, truncation):
    """The fewest that have the share, and the one after them."""
    order = np.sort(logits, axis=-1)[:, ::-1]
    weights = np.exp((order - order[:, :1]) / truncation.temperature)[:, : truncation.top_k]
    before = (np.cumsum(weights, axis=-1) - weights) / weights.sum(axis=-1, keepdims=True)
    kept = (before < truncation.top_p).sum(axis=-1)
    return np.array(
        [
            rule(
                logits[i : i + 1], uniform[i : i + 1], truncation._replace(top_k=min(kept[i] + 1, truncation.top_k), top_p=1.0)
            )[0]
            for i in range(len(logits))
        ]
    )


NUMBERS = {
    "one number for all tokens of a row": lambda seeds, steps: np.repeat(right(seeds, steps)[:, :1], steps, axis=1),
    "one number for all rows": lambda seeds, steps: np.repeat(right(seeds, steps)[:1], len(seeds), axis=0),
    "numbers that know no seed": lambda seeds, steps: right(np.arange(2 * len(seeds)).reshape(-1, 2), steps),
    "numbers that are never large": lambda seeds, steps: right(seeds, steps) * np.float32(0.8),
}
RULES = {
    "a temperature that is ignored": lambda logits, uniform, cut: rule(logits, uniform, cut._replace(temperature=1.0)),
    "a temperature that is never that low": lambda logits, uniform, cut: rule(
        logits, uniform, cut._replace(temperature=np.maximum(cut.temperature, 0.2))
    ),
    "a top_k of one more": lambda logits, uniform, cut: rule(logits, uniform, cut._replace(top_k=cut.top_k + 1)),
    "a top_p off by one token": one_token_more,
    "cuts before the temperature": lambda logits, uniform, cut: rule(
        np.where(np.exp(logits - logits.max(axis=-1, keepdims=True)) < 1.0 - cut.top_p, -np.inf, logits),
        uniform,
        cut._replace(top_p=1.0),
    ),
}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("mistake", NUMBERS)
def test_numbers_that_hang_together_fail(mistake, monkeypatch):
    monkeypatch.setattr(numpy_decoding, "uniforms", NUMBERS[mistake])
    assert found().status == FAILED


@pytest.mark.long(but=2)
@pytest.mark.parametrize("mistake", RULES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_another_rule_fails(mistake, dtype, monkeypatch):
    monkeypatch.setattr(numpy_decoding, "drawn", RULES[mistake])
    result = found(dtype)
    assert result.status == FAILED and "differs though clear" in result.reason


def test_a_number_beside_the_boundary_is_a_near_tie():
    """A token that another rounding draws is counted and listed."""
    (experiment,) = DrawnTokens.made("float64", 0)
    backend = BACKEND(dtype="float64")
    got = compute(backend, experiment.request)
    moved = {**got, "numbers.0": np.clip(got["numbers.0"] + 2e-5, 0.0, 1.0)}
    (result,) = experiment.run("numpy", lambda request: moved)
    assert result.status == PASSED
    moved["numbers.0"] = np.clip(got["numbers.0"] + 0.02, 0.0, 1.0)
    (result,) = experiment.run("numpy", lambda request: moved)
    assert result.status == FAILED
