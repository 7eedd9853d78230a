"""Numbers that are not finite: refused where they enter, and never saved."""

import os
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import transformer_mb as tmb
from transformer_mb.errors import CheckpointError, ConfigError, NotFiniteError
from transformer_mb.training import TrainingRecipe


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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
    before = files(checkpoint)
    message = fails("train", "--resume", "--out", checkpoint, "--epochs", 63, "--learning-rate", "1e38", status=1)
    assert "no longer" in message and files(checkpoint) == before


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
