"""Trainings of so many steps, their schedules and recipes."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import trainings
import transformer_mb as tmb
from trainings import TEST, TRAINED_ON, InterruptAt, files
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import ConfigError
from transformer_mb.initialization import initial_weights
from transformer_mb.presets import RECIPES
from transformer_mb.trainer import TrainerOptions
from transformer_mb.training import SCHEDULES, Progress, TrainingInterrupted, TrainingRecipe, TrainingState
from transformer_mb.training.records import ValidationRecord
from transformer_mb.training.schedules import Span
from transformer_mb.training.settings import Settings

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
    with pytest.raises(ConfigError, match="seed was 0 and is 1; batch_size was 64 and is 32"):
        TrainingRecipe(batch_size=32, seed=1).check_continues(before)


# Trainings that end after so many steps, schedules that know their end, and one that waits for the validations.


class Rates(Progress):
    """The learning rate after each reading."""

    def __init__(self):
        self.rates = {}

    def reading(self, reading):
        self.rates[reading.step] = reading.learning_rate


def train(*arguments, **options):
    return trainings.train(*arguments, **{"dropout": 0.2, "learning_rate": 0.02, **options})


@pytest.mark.parametrize("steps", [1, 3, 4, 8])
def test_it_ends_after_so_many_steps(steps):
    """Amid an epoch too."""
    state = train(max_steps=steps).state
    assert (state.step, state.epoch, state.batch) == (steps, steps // 3, steps % 3)
    assert len(state.history) == steps // 3 and state.loss > 0


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_six_steps_are_two_epochs(tmp_path, schedule):
    train(tmp_path / "steps", max_steps=6, schedule=schedule, validation=TEST)
    train(tmp_path / "epochs", epochs=2, schedule=schedule, validation=TEST)
    assert files(tmp_path / "steps") == files(tmp_path / "epochs")


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_resume_by_steps_is_bit_for_bit_the_whole(tmp_path, stop):
    options = {"schedule": "linear", "warmup_steps": 2, "validation": TEST, "validate_every_steps": 2}
    train(tmp_path / "whole", max_steps=8, **options)
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", max_steps=8, progress=InterruptAt(stop), **options)
    assert train(tmp_path / "parts", resume=True, validation=TEST).state.step == 8
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_more_steps_go_on_from_the_end_and_epochs_may_follow(tmp_path):
    train(tmp_path / "whole", epochs=3)
    train(tmp_path / "parts", max_steps=4)
    assert train(tmp_path / "parts", max_steps=5, resume=True).state.step == 5
    parts = train(tmp_path / "parts", epochs=3, resume=True)
    assert parts.state.step == 9 and files(tmp_path / "parts") == files(tmp_path / "whole")


def test_either_epochs_or_steps_say_when_it_ends():
    with pytest.raises(ConfigError, match="Either epochs or max_steps must say when training ends, got 2 and 5"):
        train(epochs=2, max_steps=5)
    with pytest.raises(ConfigError, match="max_steps must be at least 1, got -1"):
        TrainingRecipe(epochs=None, max_steps=-1)
    assert Settings(training={"max_steps": 5}, run={"preset": "d2l"}).recipe().epochs is None
    assert Settings(training={"max_steps": 0}).recipe().epochs == 10
    file = Settings(training={"epochs": 3})
    assert Settings(training={"max_steps": 5}).over(file).recipe().epochs is None
    assert Settings(training={"epochs": 2}).over(Settings(training={"max_steps": 5})).recipe().max_steps is None


def test_a_schedule_with_an_end_of_its_own_is_that_of_the_longer_training(tmp_path):
    options = {"schedule": "cosine", "warmup_steps": 2}
    train(tmp_path / "whole", epochs=4, **options)
    train(tmp_path / "parts", epochs=2, schedule_steps=12, **options)
    train(tmp_path / "parts", epochs=4, resume=True)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_longer_training_by_another_schedule_is_said_and_can_be_kept(tmp_path, schedule):
    options = {"epochs": 2, "schedule": schedule, "save_every_steps": 1}
    train(tmp_path / "model", **options)
    with pytest.warns(UserWarning, match=f"the schedule {schedule} came to zero at step 6 and does so at step 12 now") as told:
        train(tmp_path / "model", epochs=4, resume=True)
    assert "schedule_steps = 6 keeps its end" in str(told[0].message)
    rates = Rates()
    train(tmp_path / "kept", **options)
    with pytest.warns(UserWarning, match="the learning rate is zero after step 6"):
        train(tmp_path / "kept", epochs=3, schedule_steps=6, resume=True, progress=rates)
    assert set(rates.rates.values()) == {0.0}


def test_the_plateau_counts_validations_and_is_resumed_bit_for_bit(tmp_path):
    """With a rate this high the loss of other pairs does not go on falling."""
    options = {"schedule": "plateau", "plateau_patience": 1, "plateau_factor": 0.25, "learning_rate": 0.2,
               "validation": TEST, "validate_every_steps": 2, "warmup_steps": 3}  # fmt: skip
    rates = Rates()
    whole = train(tmp_path / "whole", epochs=6, progress=rates, **options)
    lowered = whole.state.lowered
    assert len(lowered) >= 2
    for step, rate in rates.rates.items():
        count = sum(one < step for one in lowered)
        assert rate == pytest.approx(0.2 * min(1.0, step / 3) * 0.25**count)
    for stop in (lowered[0] - 1, lowered[0], lowered[0] + 1):
        folder = tmp_path / str(stop)
        with pytest.raises(TrainingInterrupted):
            train(folder, epochs=6, progress=InterruptAt(stop), **options)
        assert tmb.train(TRAINED_ON, folder, resume=True, validation=TEST).state.lowered == lowered
        assert files(folder) == files(tmp_path / "whole")
    train(tmp_path / "short", epochs=1, **options)  # ends between two validations
    assert train(tmp_path / "short", epochs=6, resume=True, **options).state.lowered == lowered
    one, other = (read_checkpoint(tmp_path / name).optimizer for name in ("short", "whole"))
    assert all(np.array_equal(one[name], other[name]) for name in other)


def test_the_plateau_waits_patience_validations_each_time():
    recipe = TrainingRecipe(schedule="plateau", plateau_patience=2)
    state = TrainingState()
    for step, loss in zip(itertools.count(1), (5.0, 4.0, 4.5, 4.5, 4.5, 4.5, 3.0, 3.5, 3.4)):
        state.validated(ValidationRecord(step, step, loss), recipe, closing=False)
    assert state.lowered == [4, 6, 9]


def test_the_plateau_needs_validations_and_a_factor_below_one():
    with pytest.raises(ConfigError, match="schedule plateau needs pairs that are measured"):
        train(epochs=1, schedule="plateau")
    with pytest.raises(ConfigError, match=r"plateau_factor must be above 0 and below 1, got 1\.5"):
        TrainingRecipe(schedule="plateau", plateau_factor=1.5)
    with pytest.raises(ConfigError, match="plateau_patience must be at least 1, got 0"):
        TrainingRecipe(schedule="plateau", plateau_patience=0)


def test_without_a_seed_it_is_0():
    """As ``--help`` of translate says of --sample."""
    assert TrainerOptions().seed == tmb.Sampling().seed == 0
    by_default, by_zero = initial_weights(ONE_LAYER), initial_weights(ONE_LAYER, 0)
    assert all(np.array_equal(by_zero[name], value) for name, value in by_default.items())
