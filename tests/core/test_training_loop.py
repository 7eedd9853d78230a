"""The loop: what it counts, when it saves, and that a resumed training is bit for bit the uninterrupted one."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import transformer_mb as tmb
from trainings import InterruptAt, files
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Batches, build_vocabularies, demo_pairs, pair_ids
from transformer_mb.errors import CheckpointError, ConfigError, NotFiniteError, ShapeError
from transformer_mb.training import Job, Progress, TrainingInterrupted, TrainingRecipe, train_model

PAIRS = demo_pairs()[0][:40]
VOCABULARIES = build_vocabularies(PAIRS, "d2l", 2)
CONFIG = TransformerConfig(
    source_vocab_size=len(VOCABULARIES[0]), target_vocab_size=len(VOCABULARIES[1]), num_hiddens=8, ffn_num_hiddens=12,
    encoder_num_heads=2, decoder_num_heads=2, encoder_num_layers=1, decoder_num_layers=1, dropout=0.3, max_len=40,
)  # fmt: skip
RECIPE = TrainingRecipe(epochs=3, batch_size=8, learning_rate=0.01, schedule="linear", warmup_steps=3)


def batches(recipe: TrainingRecipe = RECIPE) -> Batches:
    return Batches(pair_ids(PAIRS, *VOCABULARIES), recipe.batch_size, recipe.seed, num_steps=recipe.num_steps)


@pytest.fixture(params=["float32", "float64"])
def backend(request):
    return tmb.get_backend("numpy", dtype=request.param)


def run(backend, recipe=RECIPE, progress=None, **options):
    model = backend.build(CONFIG, seed=recipe.seed)
    job = Job(backend, batches(recipe), recipe, vocabularies=VOCABULARIES, **options)
    return train_model(job, model, progress), model


def losses(state) -> list[tuple[float, int]]:
    return [(record.loss, record.tokens) for record in state.history]


@pytest.mark.parametrize("stop", [2, 5, 8, 14])  # amid the first epoch, at its last batch, amid the second, before the end
def test_resumed_training_is_bit_for_bit_the_uninterrupted_one(backend, tmp_path, stop):
    whole, _ = run(backend, folder=tmp_path / "whole")
    progress = InterruptAt(stop)
    with pytest.raises(TrainingInterrupted) as caught:
        run(backend, folder=tmp_path / "parts", progress=progress)
    assert progress.told == 1 and caught.value.folder == tmp_path / "parts"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    checkpoint = read_checkpoint(tmp_path / "parts")
    place = (checkpoint.trainer["epoch"], checkpoint.trainer["batch"], checkpoint.trainer["step"])
    assert place == (stop // 5, stop % 5, stop)  # 40 pairs in batches of 8: 5 steps an epoch
    parts, _ = run(backend, folder=tmp_path / "parts", resume=checkpoint)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    assert losses(parts) == losses(whole) and parts.step == 15


def test_resuming_on_from_the_end_goes_on_as_if_it_had_been_longer(backend, tmp_path):
    constant = TrainingRecipe(epochs=2, batch_size=8, learning_rate=0.01)
    longer = TrainingRecipe.from_dict({**constant.to_dict(), "epochs": 3})
    run(backend, longer, folder=tmp_path / "whole")
    run(backend, constant, folder=tmp_path / "parts")
    run(backend, longer, folder=tmp_path / "parts", resume=read_checkpoint(tmp_path / "parts"))
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.parametrize("normalization", ["steps", "tokens"])
def test_the_loss_is_counted_as_d2l_counts(normalization):
    """Against an epoch of single steps, their losses read one by one."""
    backend = tmb.get_backend("numpy", dtype="float64")
    recipe = TrainingRecipe(epochs=1, batch_size=7, num_steps=9, learning_rate=0.01, normalization=normalization)
    state, _ = run(backend, recipe)
    trainer = backend.trainer(backend.build(CONFIG, seed=0), **recipe.trainer_options())
    single = [(float(trainer.step(batch)), batch.num_tokens) for batch in batches(recipe).epoch(0)]
    tokens = sum(count for _, count in single)
    if normalization == "steps":
        expected = sum(loss for loss, _ in single) / tokens
    else:
        expected = sum(loss * count for loss, count in single) / tokens
        assert expected != pytest.approx(sum(loss for loss, _ in single) / len(single), rel=1e-6), "batches of unequal size"
    assert state.loss == pytest.approx(expected, rel=1e-12)
    assert state.history[0].tokens == tokens == batches(recipe).num_tokens
    assert 0 < state.train_seconds < 60 and state.tokens_per_second == pytest.approx(tokens / state.train_seconds)


def test_the_learning_rate_of_each_step_is_the_schedules(monkeypatch):
    backend = tmb.get_backend("numpy")
    rates = []
    trainer_class = type(backend.trainer(backend.build(CONFIG)))
    real = trainer_class.accumulated_step
    recorded = lambda self, batches: rates.append(self.learning_rate) or real(self, batches)  # noqa: E731
    monkeypatch.setattr(trainer_class, "accumulated_step", recorded)
    run(backend)
    falling = [0.01 * left / 13 for left in range(13, 0, -1)]  # 15 steps, 3 of warm-up
    assert rates == pytest.approx([0.01 / 3, 0.02 / 3, *falling])


def test_the_loss_is_read_once_in_a_while(monkeypatch):
    """A step's loss is the framework's scalar; reading it would wait for the device at each step."""

    class Scalar:
        reads = 0

        def __float__(self) -> float:
            Scalar.reads += 1
            seen.append(state_at_step[-1])
            return 1.0

    backend = tmb.get_backend("numpy")
    seen, state_at_step = [], []
    trainer_class = type(backend.trainer(backend.build(CONFIG)))
    scalar = lambda self, batches: state_at_step.append(len(state_at_step)) or Scalar()  # noqa: E731
    monkeypatch.setattr(trainer_class, "accumulated_step", scalar)
    recipe = TrainingRecipe(epochs=1, batch_size=1)
    run(backend, recipe)
    assert Scalar.reads == 40 and set(seen) == {31, 39}  # after steps 32 and 40


@pytest.mark.parametrize(("save_every", "expected"), [(None, [3]), (1, [1, 2, 3]), (2, [2, 3])])
def test_when_it_saves(tmp_path, save_every, expected):
    class Saves(Progress):
        def saved(self, folder, state):
            epochs.append(json.loads((folder / "trainer.json").read_text())["epoch"])

    epochs = []
    run(tmb.get_backend("numpy"), folder=tmp_path / "model", save_every=save_every, progress=Saves())
    assert epochs == expected


@pytest.mark.parametrize(("every", "expected"), [(4, [4, 8, 12, 15]), (5, [5, 10, 15]), (99, [15])])
def test_it_saves_after_so_many_steps_and_goes_on_as_if_it_had_not(tmp_path, every, expected):
    class Saves(Progress):
        def saved(self, folder, state):
            steps.append(json.loads((folder / "trainer.json").read_text())["step"])

    steps = []
    backend = tmb.get_backend("numpy")
    whole, _ = run(backend, folder=tmp_path / "whole")
    saving, _ = run(backend, folder=tmp_path / "saving", save_every_steps=every, progress=Saves())
    assert steps == expected and losses(saving) == losses(whole)
    assert files(tmp_path / "saving") == files(tmp_path / "whole")


def test_without_a_folder_ctrl_c_still_stops_after_the_step():
    with pytest.raises(TrainingInterrupted) as caught:
        run(tmb.get_backend("numpy"), progress=InterruptAt(4))
    assert caught.value.folder is None and caught.value.state.step == 4


def test_a_second_ctrl_c_stops_at_once():
    class Twice(InterruptAt):
        def interrupted(self):
            super().interrupted()
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        run(tmb.get_backend("numpy"), progress=Twice(2))
    assert not isinstance(caught.value, TrainingInterrupted)


def test_a_callers_own_handler_of_ctrl_c_stays(tmp_path):
    calls = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        state, _ = run(tmb.get_backend("numpy"), progress=InterruptAt(2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert state.step == 15 and calls == [signal.SIGINT]


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_checkpoint(tmp_path):
    backend = tmb.get_backend("numpy")
    run(backend, folder=tmp_path / "model")
    before = files(tmp_path / "model")
    recipe = TrainingRecipe.from_dict({**RECIPE.to_dict(), "epochs": 9, "learning_rate": 1e30, "schedule": "constant"})
    with np.errstate(all="ignore"), pytest.raises(NotFiniteError, match=r"The loss is no longer a number \(epoch 4"):
        run(backend, recipe, folder=tmp_path / "model", resume=read_checkpoint(tmp_path / "model"), save_every=1)
    assert files(tmp_path / "model") == before


def test_what_cannot_be_resumed(tmp_path):
    backend = tmb.get_backend("numpy")
    _, model = run(backend, folder=tmp_path / "trained")
    tmb.save(model, tmp_path / "alone")
    with pytest.raises(CheckpointError, match="holds a model alone"):
        run(backend, resume=read_checkpoint(tmp_path / "alone"))
    checkpoint = read_checkpoint(tmp_path / "trained")
    with pytest.raises(ConfigError, match="batch_size was 8 and is 9"):
        run(backend, TrainingRecipe.from_dict({**RECIPE.to_dict(), "batch_size": 9}), resume=checkpoint)
    for damage, words in [
        ({"step": 3}, "must be of one step, got 3 and 15"),
        ({"epoch": -1}, "a whole number of at least 0 as epoch, got -1"),
        ({"history": [{"loss": 1.0}]}, "must hold rows with epoch, loss, tokens, seconds and validation_loss as history"),
        ({"recipe": {"color": 1}}, "no valid recipe: Unknown training field"),
    ]:
        checkpoint.trainer.update(damage)
        with pytest.raises(CheckpointError, match=words):
            run(backend, resume=checkpoint)
        checkpoint = read_checkpoint(tmp_path / "trained")


def test_training_learns():
    """Forty sentences are learned by heart: ten seeds end at a loss of 0.04 to 0.18."""
    recipe = TrainingRecipe(epochs=40, batch_size=8, learning_rate=0.01, seed=3)
    backend = tmb.get_backend("numpy")
    model = backend.build(CONFIG.replace(dropout=0.0, num_hiddens=32, ffn_num_hiddens=64), seed=3)
    state = train_model(Job(backend, batches(recipe), recipe), model)
    assert state.history[0].loss > 2.0 and state.loss < 0.5


@pytest.mark.parametrize("normalization", ["tokens", "steps"])
def test_batches_of_eight_by_twos_are_batches_of_sixteen(normalization, tmp_path):
    """Of one width, without dropout. Five batches make two steps and one of those that are left, as 40 pairs do by 16."""
    backend, found = tmb.get_backend("numpy", dtype="float64"), []
    for changes in ({"batch_size": 16}, {"batch_size": 8, "accumulate": 2}):
        fields = {**RECIPE.to_dict(), "num_steps": 9, "normalization": normalization, "schedule": "cosine", **changes}
        recipe = TrainingRecipe.from_dict(fields)
        model = backend.build(CONFIG.replace(dropout=0.0), seed=0)
        state = train_model(Job(backend, batches(recipe), recipe), model)
        assert state.step == 9
        found.append((state.history, backend.get_weights(model)))
    for one, other in zip(found[0][0], found[1][0], strict=True):
        assert (one.tokens, one.loss) == (other.tokens, pytest.approx(other.loss, rel=1e-12))
    for name, weight in found[0][1].items():
        np.testing.assert_allclose(weight, found[1][1][name], rtol=0, atol=1e-12 * np.abs(weight).max())


def test_an_accumulating_training_is_resumed_bit_for_bit(tmp_path):
    backend, recipe = tmb.get_backend("numpy"), TrainingRecipe.from_dict({**RECIPE.to_dict(), "accumulate": 2})
    whole, _ = run(backend, recipe, folder=tmp_path / "whole")
    with pytest.raises(TrainingInterrupted):
        run(backend, recipe, folder=tmp_path / "parts", progress=InterruptAt(5))
    checkpoint = read_checkpoint(tmp_path / "parts")
    assert [checkpoint.trainer[name] for name in ("epoch", "batch", "step")] == [1, 4, 5]
    with pytest.raises(ConfigError, match="accumulate was 2 and is 1"):
        run(backend, RECIPE, resume=checkpoint)
    run(backend, recipe, folder=tmp_path / "parts", resume=checkpoint)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and whole.step == 9


def test_the_parts_of_a_step_drop_out_apart():
    backend = tmb.get_backend("numpy")
    model = backend.build(CONFIG, seed=0)
    trainer, batch = backend.trainer(model, learning_rate=1e-30), next(batches().epoch(0))
    first, twice = float(trainer.step(batch)), backend.trainer(model, learning_rate=1e-30)
    both = float(twice.accumulated_step([batch, batch]))
    assert abs(both - 2 * first) > 1e-3 * first and twice.step_count == 1
    with pytest.raises(ShapeError, match="A step must have batches, and dropout masks for each, got 0 and 0"):
        twice.accumulated_step([])
