"""``train``: settings from file, flags and preset, and a job that goes on."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import pytest

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.cli.main import main
from transformer_mb.errors import ConfigError
from transformer_mb.presets import ARCHITECTURES, PRESETS, RECIPES, d2l
from transformer_mb.training.settings import Settings, read_toml


def trainer(folder) -> dict:
    return json.loads((folder / "trainer.json").read_text())


def test_the_checkpoint_says_how_it_was_made(trained, data):
    found = read_checkpoint(trained)
    assert found.config.num_hiddens == 32 and found.config.tie_output
    assert found.trainer["recipe"]["epochs"] == found.trainer["epoch"] == len(found.trainer["history"]) == 60
    assert found.trainer["recipe"]["batch_size"] == 16 and found.trainer["step"] == 60 * 3
    assert found.trainer["data"]["source"] == str(data) and found.trainer["data"]["pairs"] == 40
    assert found.trainer["data"]["run"] == {"backend": "numpy", "device": None, "dtype": "float32"}


def test_the_d2l_preset_is_the_books(cli, data, tmp_path):
    outcome = cli("train", "--data", data, "--preset", "d2l", "--epochs", 1, "--num-examples", 30, "--out", tmp_path / "model")
    assert outcome.status == 0
    *_, opening, loss, saved = outcome.out.splitlines()
    assert (
        opening == "training 1 epoch with numpy, cpu, float32"
        and loss.startswith("loss ")
        and "tokens/s (numpy, cpu, float32)" in loss
        and saved == f"saved in {tmp_path / 'model'}"
    )
    assert outcome.err.splitlines()[0].startswith("epoch 1/1  loss ")
    found = read_checkpoint(tmp_path / "model")
    sizes = len(found.source_vocabulary), len(found.target_vocabulary)
    # The book's, but for <unk>, <pad> and <bos>, which no translation is to hold.
    assert found.config == d2l(*sizes, suppress_ids=(0, 1, 2))
    recipe = found.trainer["recipe"]
    published = {"num_steps": 10, "learning_rate": 0.005, "normalization": "steps", "min_freq": 2, "batch_size": 64}
    assert recipe == {**recipe, **published, "epochs": 1, "num_examples": 30}


LAYERED = """
backend = "torch"
[model]
preset = "d2l"
num_hiddens = 16
[training]
epochs = 7
num_steps = 0
[data]
pipeline = "words"
"""


def test_flags_override_the_file_which_overrides_the_preset(tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(LAYERED)
    flags = Settings(training={"epochs": 3, "clip_norm": 0}, run={"out": "there"})
    merged = flags.over(read_toml(path))
    recipe, config = merged.recipe(), merged.config(source_vocab_size=9, target_vocab_size=9)
    assert (recipe.epochs, recipe.num_steps, recipe.clip_norm, recipe.pipeline, recipe.min_freq) == (3, None, None, "words", 2)
    assert config == d2l(9, 9, num_hiddens=16)
    assert merged.run == {"out": "there", "backend": "torch", "preset": "d2l"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[modle]\n", r"Unknown table\(s\) and key\(s\) of .*train.toml: modle. Did you mean model\? There are: model, "),
        ("epochs = 3\n", r"Unknown table\(s\) and key\(s\) of .*: epochs"),
        ("model = 3\n", "model must be a table, got 3"),
        ("[data]\nsauce = 'x'\n", r"Unknown key\(s\) of \[data\] in .*: sauce"),
        ("[data]\nsource = 3\n", "data.source must be a string, got 3"),
        ("save_every = 'often'\n", "save_every must be a whole number, got 'often'"),
        ("[model\n", "must be TOML, but it is not"),
        ("[data]\nfields = 3\n", "data.fields must be a list of two strings, got 3"),
        ("[data]\nfields = ['en', 3]\n", r"data.fields must be a list of two strings, got \['en', 3\]"),
        ("processes = -1\n", "processes must be at least 1, got -1"),
        ("save_every = 0\n", "save_every must be at least 1, got 0"),
    ],
)
def test_a_file_that_is_wrong_names_what(tmp_path, text, words):
    path = tmp_path / "train.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_toml(path)


@pytest.mark.parametrize(
    ("start", "repeated", "words"),
    [
        ("[model]\nmax_len = ", "[", "must be TOML, but it is not: it is nested too deep"),
        ("[training]\nepochs = ", "9", "must be TOML, but it is not: it holds a number with thousands of digits"),
        ("[training]\nepochs = 0x", "f", "epochs must be a whole number of at most 64 bits, got one of 20000"),
    ],
)
def test_a_file_that_python_cannot_read_is_refused_in_words(tmp_path, start, repeated, words):
    path = tmp_path / "train.toml"
    path.write_text(start + 5000 * repeated)
    with pytest.raises(ConfigError, match=words):
        read_toml(path)


def test_validation_is_scored(cli, settings_file, data, tmp_path):
    outcome = cli("train", settings_file, "--epochs", 1, "--out", tmp_path / "model", "--validation", data)
    assert outcome.status == 0 and "BLEU " in outcome.out and "of 40 pairs" in outcome.out and "nrefs:1|" in outcome.out


def test_a_checkpoint_is_not_overwritten_unless_forced(fails, cli, settings_file, checkpoint):
    before = (checkpoint / "model.safetensors").read_bytes()
    message = fails("train", settings_file, "--out", checkpoint)
    assert "holds a checkpoint already: resume=True (--resume) continues it, force=True (--force) replaces it." in message
    assert (checkpoint / "model.safetensors").read_bytes() == before
    assert cli("train", settings_file, "--out", checkpoint, "--epochs", 1, "--force").status == 0
    assert trainer(checkpoint)["epoch"] == 1


def test_what_cannot_be_resumed(fails, settings_file, checkpoint, tmp_path, data):
    assert "got nothing" in fails("train", "--resume", "--out", tmp_path / "none")
    assert "batch_size was 16 and is 8" in fails("train", "--resume", "--out", checkpoint, "--batch-size", 8)
    other = tmp_path / "other.tsv"
    other.write_text(data.read_text().replace("he ", "she "))
    assert "with the sentence pairs it began with" in fails("train", "--resume", "--out", checkpoint, "--data", other)
    wider = tmp_path / "wider.toml"
    wider.write_text("[model]\nnum_hiddens = 64\n")
    assert "num_hiddens was 32 and is 64" in fails("train", wider, "--resume", "--out", checkpoint)
    for name in ("optimizer.safetensors", "trainer.json"):
        (checkpoint / name).unlink()
    assert "holds a model alone" in fails("train", "--resume", "--out", checkpoint)


def test_a_job_that_is_killed_and_started_again_goes_on(cli, settings_file, tmp_path):
    """By one command line, with nothing there yet and with a checkpoint of an epoch's middle."""
    folder, whole = tmp_path / "model", tmp_path / "whole"
    command = ["train", settings_file, "--epochs", 2000, "--save-every-steps", 2, "--resume", "auto", "--out", folder]
    process = subprocess.Popen([sys.executable, "-m", "transformer_mb", *map(str, command)], stderr=subprocess.DEVNULL)
    while not (folder / "trainer.json").exists() and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    reached = trainer(folder)
    assert reached["step"] % 2 == 0 and reached["step"] == reached["epoch"] * 3 + reached["batch"] > 0
    command[3] = epochs = reached["epoch"] + 2
    again = cli(*command)
    assert again.status == 0 and "continuing epoch" in again.out
    assert cli("train", settings_file, "--epochs", epochs, "--out", whole).status == 0
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    finished = cli(*command)
    assert finished.status == 0 and f"already at epoch {epochs}" in finished.out


def test_resume_stands_alone_or_is_auto(fails, settings_file, tmp_path):
    message = fails("train", settings_file, "--out", tmp_path / "model", "--resume=later")
    assert "--resume must stand alone or be auto, got 'later'." in message
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains(name, cli, tmp_path, pairs):
    """Small, on a few pairs; what shares its embeddings gets one vocabulary."""
    small = "num_hiddens = 8\nffn_num_hiddens = 8\nencoder_num_layers = 1\ndecoder_num_layers = 1\n"
    heads = "encoder_num_heads = 2\ndecoder_num_heads = 2\n"
    path = tmp_path / "train.toml"
    path.write_text(f'[model]\npreset = "{name}"\n{small}{heads}[training]\nepochs = 1\nbatch_size = 20\n')
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    assert cli("train", path, "--data", tmp_path / "pairs.tsv", "--out", tmp_path / "model").status == 0
    found = read_checkpoint(tmp_path / "model")
    assert (found.source_vocabulary == found.target_vocabulary) == (name == "vaswani_base") == found.config.share_embeddings
    config = found.config.to_dict()  # but for the ids, which the vocabularies decide
    kept = ("norm_position", "norm_kind", "norm_affine", "final_norm", "embedding_scale", "ffn_dropout", "output_bias")
    assert all(config[field] == ARCHITECTURES[name].get(field, config[field]) for field in kept)
    recipe = {**RECIPES[name], "epochs": 1, "batch_size": 20}
    assert {field: found.trainer["recipe"][field] for field in recipe} == {**recipe, **_listed(recipe)}


def _listed(recipe: dict) -> dict:
    """As JSON has it."""
    return {field: list(value) for field, value in recipe.items() if isinstance(value, tuple)}


def test_what_the_model_sees_of_the_corpus_is_said_before_training(cli, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a b c d\tx\na b\tx y\n\ta\na\tz\n")
    command = ("train", "--data", path, "--out", tmp_path / "model", "--epochs", 1, "--num-steps", 3, "--min-freq", 2)
    lines = cli(*command, "--num-hiddens", 8, "--num-heads", 2).out.splitlines()
    assert re.fullmatch(r"3 pairs \(1 line with a blank side was skipped\); [\d,]+ parameters", lines[0])
    assert lines[1] == "source: vocabulary of 6, 28.6% of 7 words unknown, 33.3% of sentences cut to 3 tokens"
    assert lines[2] == "target: vocabulary of 5, 50.0% of 4 words unknown, 0.0% of sentences cut to 3 tokens"
    counts = tmb.train(path, epochs=1, num_steps=3, min_freq=2, num_hiddens=8, num_heads=2, backend="numpy").corpus
    assert (counts.pairs, counts.skipped, counts.source.cut, counts.source.unknown, counts.target.unknown) == (3, 1, 1, 2, 2)
    shapes = read_checkpoint(tmp_path / "model").weights.values()
    assert counts.parameters == sum(array.size for array in shapes) and f"{counts.parameters:,} par" in lines[0]


def test_the_command_prints_and_writes_what_validation_measures(cli, settings_file, data, tmp_path):
    command = ("train", settings_file, "--out", tmp_path / "model", "--epochs", 2, "--validation", data)
    outcome = cli(*command, "--json", tmp_path / "run.json")
    found = json.loads((tmp_path / "run.json").read_text())
    first, second = found["history"]
    assert f"validation loss {first['validation_loss']:.4f}, perplexity {first['perplexity']:.2f}" in outcome.err
    assert f"validation loss {second['validation_loss']:.4f}, perplexity {second['perplexity']:.2f}, at epoch 2" in outcome.out
    assert f"loss {second['loss']:.4f}, perplexity {math.exp(second['loss']):.2f}, " in outcome.out
    assert "validation: 40 pairs\n" in outcome.out and "training 2 epochs with numpy, cpu, float32\n" in outcome.out
    assert f"validation BLEU         {found['validation']['bleu']['value']:6.2f}" in outcome.out
    assert (found["best_epoch"], found["epoch"], found["stopped_early"], found["corpus"]["pairs"]) == (2, 2, False, 40)


def test_a_preset_is_named_alike_everywhere(cli, data, tmp_path, capfd):
    top, table = tmp_path / "top.toml", tmp_path / "table.toml"
    top.write_text('preset = "d2l"\n')
    table.write_text('[model]\npreset = "d2l"\n')
    printed = [cli("train", path, "--print-config").out for path in (top, table)]
    assert printed == [cli("train", "--preset", "d2l", "--print-config").out] * 2 and 'preset = "d2l"' in printed[0]
    assert main(["train", "--help"]) == 0 and "stepwise_prenorm" in capfd.readouterr().out


@pytest.mark.parametrize(("precision", "noted"), [("tf32", True), ("bf16", False), ("full", False)])
def test_a_precision_that_a_processor_does_not_have_is_noted(cli, data, tmp_path, precision, noted):
    code = ("-m", "transformer_mb", "train", "--data", data, "--num-examples", "4", "--epochs", "1", "--backend", "torch")
    command = [sys.executable, *code, "--out", tmp_path / "model", "--precision", precision]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    )
    assert done.returncode == 0, done.stderr
    assert ("note: precision tf32 has no effect on cpu\n" in done.stdout) == noted
