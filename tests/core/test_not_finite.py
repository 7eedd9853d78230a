"""What training and saving must not destroy, and the words where they refuse."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import transformer_mb as tmb
from transformer_mb.data import Vocabulary
from transformer_mb.errors import CheckpointError, ConfigError, NotFiniteError
from transformer_mb.files.tensors import write_tensors
from transformer_mb.training import Progress, TrainingRecipe

SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "encoder_num_layers": 1, "decoder_num_layers": 1}


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_saving_a_model_loses_no_vocabularies_and_no_training(checkpoint):
    model, before = tmb.load(checkpoint, backend="numpy"), files(checkpoint)
    with pytest.raises(CheckpointError, match=r"with vocabularies and the state of its training, which would be lost: nothing"):
        tmb.save(model, checkpoint)
    assert files(checkpoint) == before
    for name in ("optimizer.safetensors", "trainer.json"):
        (checkpoint / name).unlink()
    with pytest.raises(CheckpointError, match=r"holds a checkpoint with vocabularies, which would be lost"):
        tmb.save(model, checkpoint)
    tmb.save(model, checkpoint, force=True)
    assert sorted(files(checkpoint)) == ["config.json", "model.safetensors"]
    tmb.save(model, checkpoint)  # the same kinds again


def test_a_training_is_not_replaced_by_another_in_python(checkpoint):
    before = files(checkpoint)
    words = r"holds a checkpoint already: resume=True \(--resume\) continues it, force=True \(--force\) replaces"
    with pytest.raises(CheckpointError, match=words):
        tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", **SMALL)
    assert files(checkpoint) == before
    tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", force=True, **SMALL)
    assert files(checkpoint) != before


@pytest.mark.parametrize("resume", [False, "auto"])
def test_of_two_trainings_that_begin_together_the_later_one_replaces_nothing(tmp_path, resume):
    """Both have found a folder without a checkpoint: the second to save looks again, and only at its first save."""
    folder, kept = tmp_path / "model", {}
    options = {"epochs": 2, "save_every": 1, "backend": "numpy", **SMALL}

    class Meanwhile(Progress):
        def epoch(self, record):
            if not kept:
                tmb.train([("a", "b")], folder, **options)
                kept.update(files(folder))

    with pytest.raises(CheckpointError, match="another training has written there meanwhile: it stays as it is") as raised:
        tmb.train([("a", "b")], folder, resume=resume, progress=Meanwhile(), **options)
    assert str(folder) in str(raised.value) and files(folder) == kept and os.listdir(tmp_path) == ["model"]


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


def test_the_current_folder_can_be_trained_into_and_an_empty_name_is_refused(cli, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("train", "--data", data, "--epochs", 1, "--num-examples", 4, "--out", ".").status == 0
    assert (tmp_path / "config.json").exists()
    for flag in ("--data", "--out", "--validation"):
        outcome = cli("train", flag, "")
        assert outcome.status == 2 and f"Invalid value for '{flag}': a path was expected, got ''." in outcome.err


def test_errors_of_train_name_its_flags(fails, settings_file, tmp_path):
    long = tmp_path / "long.tsv"
    long.write_text("word " * 30 + "\tmot\n")
    message = fails("train", settings_file, "--data", long, "--out", tmp_path / "model")
    assert message.endswith("1 of 1 are too long. num_steps (--num-steps 30) cuts them.")
    message = fails("train", settings_file, "--out", tmp_path / "model", "--clip-norm", "-1")
    assert "clip_norm must be positive, or None for no limit (0 in a flag or a file), got -1.0." in message


def test_train_refuses_a_decoder_alone(fails, data, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('[model]\narchitecture = "decoder"\n')
    message = fails("train", path, "--data", data, "--out", tmp_path / "model")
    assert message == "Error: architecture must be encoder_decoder to be trained on sentence pairs, got 'decoder'."


def test_train_and_evaluate_try_places_before_the_work(fails, settings_file, trained, data, tmp_path):
    message = fails("train", settings_file, "--out", "/proc/model")
    assert "/proc/model cannot be created: /proc must be a folder that may be written to" in message
    for option in ("--json", "--loss-curve"):
        message = fails("train", settings_file, "--out", tmp_path / "model", option, "/proc/x.svg")
        assert message.startswith("Error: /proc/x.svg: ")
    assert fails("evaluate", trained, "--data", data, "--json", "/proc/x.json").startswith("Error: /proc/x.json: ")
    assert os.listdir(tmp_path) == []


def test_nothing_but_force_overwrites_a_file(cli, fails, trained, settings_file, data, tmp_path):
    mine = {name: tmp_path / name for name in ("a.json", "a.svg", "b-2.png", "a.jsonl")}
    for path in mine.values():
        path.write_text("mine")
    train = ("train", settings_file, "--epochs", 1, "--out", tmp_path / "model")
    evaluate = ("evaluate", trained, "--data", data, "--num-examples", 2, "--json", mine["a.json"])
    for command in ((*train, "--json", mine["a.json"]), (*train, "--loss-curve", mine["a.svg"]), evaluate,
                    ("translate", trained, "--attention", mine["a.jsonl"]),
                    ("translate", trained, "--attention", tmp_path / "b.png"),
                    ("demo", "--json", mine["a.json"]), ("demo", "--out", trained),
                    ("backends", "--json", mine["a.json"])):  # fmt: skip
        message = fails(*command)
        assert "must be a new file, but there is one already" in message or "holds a checkpoint already" in message
    assert {path.read_text() for path in mine.values()} == {"mine"} and not (tmp_path / "model").exists()
    assert cli(*evaluate, "--force").status == 0 and json.loads(mine["a.json"].read_text())["pairs"] == 2
    assert cli("evaluate", trained, "--data", data, "--num-examples", 2, "--json", "/dev/null").status == 0


def test_files_of_tensors_have_the_permissions_that_the_umask_leaves(cli, settings_file, tmp_path):
    before = os.umask(0o027)
    try:
        assert cli("train", settings_file, "--epochs", 1, "--out", tmp_path / "model").status == 0
        tmb.save(tmb.load(tmp_path / "model", backend="numpy"), tmp_path / "alone")
        tmb.port(tmp_path / "model", tmp_path / "model.safetensors", to="safetensors")
        write_tensors(tmp_path / "tensors.safetensors", {"w": np.zeros(2)})
    finally:
        os.umask(before)
    written = [*(tmp_path / "model").iterdir(), *(tmp_path / "alone").iterdir(), *tmp_path.glob("*.safetensors")]
    assert len(written) == 10
    assert {path.name: path.stat().st_mode & 0o777 for path in written} == {path.name: 0o640 for path in written}


def test_the_help_of_train_shows_defaults(cli):
    text = " ".join(cli("train", "--help").out.split())
    for words in ("before a resume counted. [default: 10]", "above 0. [default: 0.001]", "in a batch. [default: 64]"):
        assert words in text


def test_training_goes_on_where_nobody_reads(data, tmp_path):
    line = f"{sys.executable} -m transformer_mb train --data {data} --num-examples 4 --epochs 1 --out {tmp_path}/model | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr and (tmp_path / "model" / "config.json").exists()


def test_what_adds_to_a_checkpoint_needs_no_force(tmp_path):
    """A bare model over a bare model, and one with vocabularies over it, need no force."""
    model = tmb.get_backend("numpy").build(tmb.presets.d2l(4, 4, **SMALL))
    vocabulary = Vocabulary.from_tokens([])
    tmb.save(model, tmp_path / "model")
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))
