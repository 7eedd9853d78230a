"""Trainings that end after so many steps, schedules that know their end, and one that waits for the validations."""

import itertools

import numpy as np
import pytest

import transformer_mb as tmb
from interrupting import InterruptAt
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import demo_pairs
from transformer_mb.errors import ConfigError
from transformer_mb.training import Progress, TrainingInterrupted, TrainingRecipe, TrainingState
from transformer_mb.training.records import ValidationRecord
from transformer_mb.training.settings import Settings

TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]  # three steps an epoch
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}


class Rates(Progress):
    """The learning rate after each reading."""

    def __init__(self):
        self.rates = {}

    def reading(self, reading):
        self.rates[reading.step] = reading.learning_rate


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, "dropout": 0.2, "learning_rate": 0.02, **options})


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "trainer.json"}


@pytest.mark.parametrize("steps", [1, 3, 4, 8])
def test_it_ends_after_so_many_steps(steps):
    """Amid an epoch too."""
    state = train(max_steps=steps).state
    assert (state.step, state.epoch, state.batch) == (steps, steps // 3, steps % 3)
    assert len(state.history) == steps // 3 and state.loss > 0


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_six_steps_are_two_epochs(tmp_path, schedule):
    train(tmp_path / "steps", max_steps=6, schedule=schedule, validation=UNSEEN)
    train(tmp_path / "epochs", epochs=2, schedule=schedule, validation=UNSEEN)
    assert files(tmp_path / "steps") == files(tmp_path / "epochs")


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_resume_by_steps_is_bit_for_bit_the_whole(tmp_path, stop):
    options = {"schedule": "linear", "warmup_steps": 2, "validation": UNSEEN, "validate_every_steps": 2}
    train(tmp_path / "whole", max_steps=8, **options)
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", max_steps=8, progress=InterruptAt(stop), **options)
    assert train(tmp_path / "parts", resume=True, validation=UNSEEN).state.step == 8
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
               "validation": UNSEEN, "validate_every_steps": 2, "warmup_steps": 3}  # fmt: skip
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
        assert tmb.train(TRAINED_ON, folder, resume=True, validation=UNSEEN).state.lowered == lowered
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
