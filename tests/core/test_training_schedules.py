"""Learning rate schedules against their formulas, and recipes that are refused."""

from __future__ import annotations

import json

import pytest

from transformer_mb.errors import ConfigError
from transformer_mb.presets import RECIPES
from transformer_mb.training import SCHEDULES, TrainingRecipe
from transformer_mb.training.schedules import Span

BASE = Span(warmup_steps=4000, total_steps=100_000, num_hiddens=512)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        # 512^-0.5 * min(step^-0.5, step * 4000^-1.5), worked out by hand from powers of ten: 4000^1.5 = 252982.2128.
        (1, 0.044194173824159216 / 252982.21281347034),
        (4000, 0.044194173824159216 / 63.245553203367585),
        (16000, 0.044194173824159216 / 126.49110640673517),
        (100_000, 0.044194173824159216 / 316.2277660168379),
    ],
)
def test_vaswani_is_equation_3(step, expected):
    assert SCHEDULES["vaswani"](step, BASE) == pytest.approx(expected, rel=1e-13)


def test_the_peak_of_equation_3_is_the_known_one():
    """7e-4 for the base model: 1/sqrt(512 * 4000), at the end of the warm-up and nowhere else."""
    rates = {step: SCHEDULES["vaswani"](step, BASE) for step in (3999, 4000, 4001)}
    assert rates[4000] == pytest.approx((512 * 4000) ** -0.5, rel=1e-12) == pytest.approx(6.99e-4, rel=1e-3)
    assert rates[4000] > max(rates[3999], rates[4001])


def test_inverse_square_root_is_equation_3_with_its_peak_at_one():
    for step in (1, 57, 3999, 4000, 4001, 20_000):
        scaled = SCHEDULES["inverse_square_root"](step, BASE) * (512 * 4000) ** -0.5
        assert scaled == pytest.approx(SCHEDULES["vaswani"](step, BASE), rel=1e-12)


def test_linear_rises_to_one_and_falls_to_the_last_step():
    span = Span(warmup_steps=4, total_steps=9, num_hiddens=8)
    found = [SCHEDULES["linear"](step, span) for step in range(1, 11)]
    assert found == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0])


def test_cosine_is_half_a_cosine_after_its_warm_up():
    """Six steps from the peak to zero, of thirty degrees each, whose cosines are 1, root 3 / 2, 1 / 2, 0: (1 + cosine) / 2."""
    span, high, low = Span(warmup_steps=4, total_steps=9, num_hiddens=8), 0.5 + 3**0.5 / 4, 0.5 - 3**0.5 / 4
    found = [SCHEDULES["cosine"](step, span) for step in range(1, 12)]
    assert found == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, high, 3 / 4, 1 / 2, 1 / 4, low, 0, 0], abs=1e-15)


def test_constant_is_one_after_its_warm_up():
    assert [SCHEDULES["constant"](step, Span(0, 10, 8)) for step in (1, 2, 10)] == [1, 1, 1]
    assert [SCHEDULES["constant"](step, Span(4, 10, 8)) for step in (1, 2, 4, 5)] == [0.25, 0.5, 1, 1]


def test_the_published_d2l_recipe():
    """D2L 10.7: 200 epochs of batches of 64 x 10, Adam at 0.005, gradients clipped at 1 (9.7.4)."""
    recipe = TrainingRecipe.from_dict(RECIPES["d2l"])
    assert (recipe.epochs, recipe.batch_size, recipe.num_steps, recipe.min_freq) == (200, 64, 10, 2)
    assert (recipe.optimizer, recipe.learning_rate, recipe.clip_norm, recipe.normalization) == ("adam", 0.005, 1.0, "steps")


def test_a_recipe_survives_json():
    recipe = TrainingRecipe(epochs=3, betas=(0.9, 0.98), schedule="vaswani", warmup_steps=7, clip_norm=None)
    assert TrainingRecipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"epochs": "3"}, "epochs must be a whole number, got '3'"),
        ({"epochs": 2.0}, "epochs must be a whole number"),
        ({"accumulate": 0}, "accumulate must be at least 1, got 0"),
        ({"batch_size": True}, "batch_size must be a whole number"),
        ({"num_steps": 0}, "num_steps must be at least 1"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
        ({"learning_rate": "high"}, "learning_rate must be a finite number, got 'high'"),
        ({"betas": [0.9]}, "betas must be two finite numbers"),
        ({"betas": [0.9, 1.0]}, "betas and momentum must be from 0 to below 1"),
        ({"eps": 0}, "eps must be positive"),
        ({"optimizer": "adamw", "weight_decay": 1}, "weight_decay must be from 0 to below 1"),
        ({"optimizer": "sgd", "weight_decay": 0.1}, "weight_decay must be 0 but with adamw, got 0.1 with sgd"),
        ({"optimizer": "adagrad"}, "optimizer must be one of adam, adamw, sgd, got 'adagrad'"),
        ({"normalization": "mean"}, "normalization must be one of steps, tokens, got"),
        ({"schedule": "step"}, "schedule must be one of constant, linear, cosine, inverse_square_root, vaswani"),
        ({"schedule": "vaswani"}, "schedule vaswani needs warmup_steps of at least 1, got 0"),
        ({"pipeline": "bpe"}, "The text pipeline must be one of"),
        ({"color": 1, "lr": 2}, r"Unknown training field\(s\): color, lr"),
    ],
)
def test_a_recipe_that_cannot_be(fields, words):
    with pytest.raises(ConfigError, match=words):
        TrainingRecipe.from_dict(fields)


def test_another_recipe_cannot_continue_where_it_would_not_be_the_same_training():
    before = TrainingRecipe()
    TrainingRecipe(epochs=99, learning_rate=0.1, schedule="linear").check_continues(before)
    with pytest.raises(ConfigError, match="batch_size was 64 and is 32; seed was 0 and is 1"):
        TrainingRecipe(batch_size=32, seed=1).check_continues(before)
