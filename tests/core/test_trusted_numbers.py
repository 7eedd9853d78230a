"""Numbers that a training may go on with: those that were saved, and finite ones."""

import json
import os
import random
import shutil
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import trainings
import transformer_mb as tmb
from trainings import UNSEEN, contents
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.errors import CheckpointError, ConfigError, NotFiniteError, TransformerMBError
from transformer_mb.training import TrainingRecipe


def train(folder, **options):
    return trainings.train(folder, validation=UNSEEN, **{"epochs": 3, "keep_best": 2, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "m"
    train(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "m")


def test_no_bit_of_a_training_changes_unseen(folder):
    """Some places in each file; blanks between the words of a text say nothing."""
    draws = random.Random(3)
    whole = read_checkpoint(folder)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in draws.sample(range(len(content)), 12):
            changed = bytearray(content)
            changed[place] ^= 1 << draws.randrange(7)
            path.write_bytes(bytes(changed))
            try:
                resumed = train(folder, epochs=3, resume=True)
            except TransformerMBError:
                continue
            now = read_checkpoint(folder)
            assert now.trainer == whole.trainer and resumed.state.step == 9, (path.name, place)
            for name, value in whole.optimizer.items():
                np.testing.assert_array_equal(value, now.optimizer[name], err_msg=path.name)
        path.write_bytes(content)


def test_moments_of_another_training_are_refused(folder, tmp_path):
    train(tmp_path / "other", seed=1)
    shutil.copy(tmp_path / "other" / "optimizer.safetensors", folder)
    with pytest.raises(CheckpointError, match="must be the one that"):
        train(folder, epochs=4, resume=True)


def edit(folder, keep_digest=False, **changes):
    path = folder / "trainer.json"
    trainer = {**json.loads(path.read_text()), **changes}
    if not keep_digest:
        del trainer["saved_with"]
    path.write_text(json.dumps(trainer))


def test_an_edited_state_is_refused_and_one_without_a_digest_goes_on(folder):
    edit(folder, keep_digest=True, loss_sum=0.5, tokens=1)
    with pytest.raises(CheckpointError, match=r"trainer\.json must hold what was saved, got something else.*saved_with"):
        train(folder, epochs=4, resume=True)
    edit(folder, loss_sum=0.0, tokens=0)
    assert train(folder, epochs=4, resume=True).state.step == 12


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch": 3}, "a batch from 0 to 2, of the 3 of an epoch, got 3"),
        ({"batch": 10**30}, "below 2\\^53 as batch"),
        ({"batch": 1}, "step 10 after 3 epochs and 1 of 3 batches, got 9"),
        ({"batch": -1}, "at least 0"),
        ({"epoch": 2}, "2 finished epochs in order as history"),
        ({"epoch": 4}, "4 finished epochs"),
        ({"step": 8}, "must be of one step|validations of growing steps up to 8"),
        ({"loss_sum": float("nan")}, "as loss_sum, got nan"),
        ({"seconds": float("inf")}, "as seconds, got inf"),
        ({"lowered": [99]}, "as closing and lowered"),
    ],
)
def test_a_place_that_no_training_comes_to_is_refused(folder, changes, words):
    edit(folder, **changes)
    with pytest.raises(CheckpointError, match=words):
        train(folder, epochs=5, resume=True)


# Numbers that are not finite: refused where they enter, and never saved.

FLOATS = ("learning_rate", "eps", "momentum", "clip_norm", "label_smoothing")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_numbers_that_are_not_finite_are_refused_where_they_enter(fails, data, tmp_path, value):
    backend, model = tmb.get_backend("numpy"), tmb.get_backend("numpy").build(tmb.presets.d2l(9, 9))
    for name in FLOATS:
        for build in (TrainingRecipe, lambda **options: backend.trainer(model, **options)):
            with pytest.raises(ConfigError, match=f"{name} must be a finite number, got {value}"):
                build(**{name: float(value)})
        path = tmp_path / f"{name}.toml"
        path.write_text(f"[training]\n{name} = {value}\n")
        message = fails("train", path, "--data", data, "--out", tmp_path / "model")
        assert f"{name} must be a finite number, got {value}" in message
    for name in ("dropout", "attention_dropout", "ffn_dropout", "norm_eps"):
        with pytest.raises(ConfigError, match=f"{name} must be a finite number, got {value}"):
            tmb.TransformerConfig(source_vocab_size=9, target_vocab_size=9, **{name: float(value)})
    for flag in ("--learning-rate", "--clip-norm", "--label-smoothing", "--dropout"):
        assert "a finite number" in fails("train", "--data", data, "--out", tmp_path / "model", f"{flag}={value}")
    with pytest.raises(ConfigError, match="betas must be two finite numbers"):
        TrainingRecipe(betas=(0.9, float(value)))


def test_a_rate_that_breaks_the_model_in_its_last_step_saves_nothing(fails, data, tmp_path):
    """Each step's loss is that before its update: it shows nothing."""
    message = fails("train", "--data", data, "--out", tmp_path / "model", "--epochs", 1, "--learning-rate", "1e38",
                    "--batch-size", 64, status=1)  # fmt: skip
    assert "The model is no longer finite after step 1" in message and os.listdir(tmp_path) == []


def test_a_training_that_breaks_leaves_the_last_good_checkpoint(fails, checkpoint):
    before = contents(checkpoint)
    message = fails("train", "--resume", "--out", checkpoint, "--epochs", 63, "--learning-rate", "1e38", status=1)
    assert "no longer" in message and contents(checkpoint) == before


def test_a_model_of_nan_is_neither_saved_nor_loaded(fails, checkpoint, data, tmp_path):
    model = tmb.load(checkpoint, backend="numpy")
    tensors = load_file(checkpoint / "model.safetensors")
    tensors["decoder.dense.bias"][2] = np.nan
    backend = tmb.get_backend("numpy")
    backend.set_weights(model, tensors)
    with pytest.raises(NotFiniteError, match=r"1 of the \d+ numbers of decoder\.dense\.bias are NaN or infinite"):
        tmb.save(model, tmp_path / "broken")
    assert not (tmp_path / "broken").exists()
    save_file(tensors, checkpoint / "model.safetensors")
    with pytest.raises(CheckpointError, match="must be finite numbers, but 1 of the"):
        tmb.load(checkpoint, backend="numpy")
    for command in (["translate", checkpoint], ["evaluate", checkpoint, "--data", data],
                    ["train", "--resume", "--out", checkpoint, "--epochs", 61]):  # fmt: skip
        assert "must be finite numbers, but 1 of the" in fails(*command)


def test_no_warning_of_numpys_comes_before_the_message(cli, data, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = cli("train", "--data", data, "--out", tmp_path / "model", "--epochs", 3, "--learning-rate", "1e38")
    assert outcome.status == 1 and "Warning" not in outcome.err and outcome.err.splitlines()[-1].startswith("Error: The loss")
