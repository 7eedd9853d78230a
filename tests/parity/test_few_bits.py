"""Formats of few bits: cases are drawn until they say something, and limits see what they say they see."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ParityError
from transformer_mb.parity.computing import reference
from transformer_mb.parity.controls.answers import few_bits_controls
from transformer_mb.parity.rows.fast_steps import fast_experiments
from transformer_mb.parity.rows.layers import layer_experiments
from transformer_mb.parity.rows.model_cases import SMALL, ModelCase
from transformer_mb.parity.rows.models import model_experiments, model_request
from transformer_mb.parity.verdict import comparison, limits
from transformer_mb.parity.verdict.comparison import Comparison
from transformer_mb.parity.verdict.limits import worst

CASE = "silu, uneven sides, smoothed loss"


def model(dtype="bfloat16", seed=8825683):
    return next(each for each in model_experiments(dtype, seed) if each.case == CASE)


def planted(experiment):
    answer = reference.baseline(experiment.request)
    return {(one.control, one.row): one.caught for one in few_bits_controls(experiment, "torch", [answer])}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_errors_twice_as_large_as_is_allowed_and_gradients_of_zero_are_caught(dtype):
    caught = planted(model(dtype))
    assert set(caught.values()) == {True}
    assert {row for _, row in caught} == {"model forward", "model loss", "model gradients"}
    assert [name.partition(",")[0] for name, _ in caught].count("a gradient of zero") == 1


def test_a_rule_that_allows_more_than_it_says_is_noticed(monkeypatch):
    experiment = model()
    monkeypatch.setattr(limits, "TIMES_ROUNDED", 2.5 * limits.TIMES_ROUNDED)
    monkeypatch.setattr(limits, "TIMES_ONE_ARRAY", 2.5 * limits.TIMES_ONE_ARRAY)
    monkeypatch.setattr(limits, "CAP_ROUNDED", np.inf)
    assert {caught for (name, _), caught in planted(experiment).items() if name.startswith("4 times")} == {False}


def test_where_there_are_more_bits_nothing_of_the_kind_is_planted():
    assert planted(model("float32")) == {}


def test_a_case_is_drawn_anew_until_its_limits_are_below_the_cap(monkeypatch):
    """The first draw whose limits are: with a lower cap it is a later one."""
    first = model().request
    narrow = 0.99 * 2.0 * model().baseline("model gradients").numpy.norm
    monkeypatch.setattr(limits, "CAP_ROUNDED", narrow)
    later = model()
    assert 2.0 * later.baseline("model gradients").numpy.norm <= narrow
    assert any((first.arrays[name] != value).any() for name, value in later.request.arrays.items() if name in first.arrays)


def test_what_is_over_its_limit_is_judged_again_by_roundings_at_random():
    """All copies of this case round alike: their losses are nearer to the exact ones than another implementation can be."""
    (experiment,) = (each for each in model_experiments("float16", 3539588) if each.case.startswith("heads of three"))
    request, exact = experiment.request, experiment.expected["loss"]
    at_random = [limits.error(reference.baseline_at_random(request, n)["loss"], exact) for n in range(limits.MORE_COPIES + 1)]
    few, many = (experiment.baseline("model loss", copies).numpy.norm for copies in (4, limits.MORE_COPIES))
    assert few < many == worst(at_random)


def test_a_case_in_which_numpys_own_numbers_are_not_finite_is_drawn_anew():
    """Over a row of zeros the inverse of its deviation is beyond float16, in which NumPy multiplies by it."""
    config = TransformerConfig(**SMALL, norm_kind="std_norm", padding_vector_zero=True, position="rotary")
    case = ModelCase("zeros", config, rows=1, source_steps=1)
    request = model_request(case, "float16", 0, False)
    padding = {**request.arrays, "batch.source": np.full((1, 1), config.pad_id)}

    def make(attempt):
        return replace(request, arrays=padding) if attempt == 0 else model_request(case, "float16", attempt, False)

    first = Comparison(case.name, "float16", ("model forward",), partial(make, 0))
    assert not np.isfinite(first.baseline("model forward").numpy.norm) and not first.tells()
    again = Comparison(case.name, "float16", ("model forward",), make, redrawn=True)
    assert np.isfinite(again.baseline("model forward").numpy.norm)


def test_a_case_of_which_no_draw_says_anything_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "CAP_ROUNDED", 1e-9)
    monkeypatch.setattr(comparison, "ATTEMPTS", 2)
    with pytest.raises(ParityError, match="silu.* one of 2 draws must say something, got none"):
        _ = model().request


@pytest.mark.parametrize(("case", "seed"), [("int8, gelu, halves", 8825683), ("bf16, gelu, halves", 7547350)])
def test_a_key_or_a_step_more_or_less_is_plain(case, seed):
    """Each seed is one whose first draw hid the mistake, which passed."""
    experiment = next(each for each in fast_experiments("float32", seed, ()) if each.case == case)
    (row, mistake), *others = experiment.shows.items()
    wrong = experiment._errors(experiment.request, reference.answer(mistake(experiment.request)))[row]
    assert not others and experiment.judged_by_few_draws(row, wrong).share >= 3.0


def test_what_is_over_its_limit_in_float32_is_judged_again_by_sums_in_turn():
    """4,096 terms in turn: partial sums of the root of k terms, rounded by 0.2 eps or so, lose 0.14 * 64 = 9 eps by norm."""
    layers = layer_experiments("float32", 0)
    (experiment,) = (each for each in layers if each.case == "ffn without bias, 4,096 rows of 32")
    few, many = (experiment.baseline("layer gradients", copies).numpy.norm for copies in (4, limits.MORE_COPIES))
    assert few < 3.0 * np.finfo("float32").eps and 6.0 * np.finfo("float32").eps < many < 14.0 * np.finfo("float32").eps
