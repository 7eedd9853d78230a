"""Training: what it says of its data and its resume, validation, and its options in a file, on the line and in Python."""

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from interrupting import InterruptAt
from transformer_mb import option_words
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.cli.main import main
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Pairs, demo_pairs
from transformer_mb.errors import CheckpointError, ConfigError, DataError
from transformer_mb.registry import VARIABLE
from transformer_mb.training import TrainingInterrupted, TrainingRecipe
from transformer_mb.training.tables import documented_tables

PAGE = Path(__file__).parents[2] / "docs" / "PYTHON.md"
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "learning_rate": 0.02}
TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, "backend": "numpy", **options})


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "trainer.json"}


def measured(trained) -> list[tuple]:
    return [(record.loss, record.validation_loss) for record in trained.history]


def test_a_preset_or_a_flag_that_contradicts_the_checkpoint_is_refused(fails, checkpoint):
    resumed = ("train", "--resume", "--out", checkpoint, "--epochs", 61)
    assert "the preset it began with, None, got vaswani_base." in fails(*resumed, "--preset", "vaswani_base")
    assert "num_hiddens was 32 and is 64" in fails(*resumed, "--num-hiddens", 64)
    assert "encoder_num_layers was 1 and is 3; decoder_num_layers was 1 and is 3" in fails(*resumed, "--num-layers", 3)
    assert "keep was 'best' and is 'last'" in fails(*resumed, "--keep", "last")


def test_a_preset_is_recorded(cli, data, tmp_path):
    command = ("train", "--data", data, "--preset", "d2l", "--num-examples", 9, "--out", tmp_path / "model")
    assert cli(*command, "--epochs", 1).status == 0
    resumed = cli(*command, "--epochs", 2, "--resume")
    assert resumed.status == 0 and "continuing epoch 2 of 2 with numpy, cpu, float32, as it began" in resumed.out


def test_a_finished_training_says_so_and_stays(cli, checkpoint):
    before = files(checkpoint)
    outcome = cli("train", "--resume", "--out", checkpoint)
    assert outcome.status == 0 and outcome.out.endswith("already at epoch 60: epochs must be more than 60 to go on\n")
    assert "tokens/s" not in outcome.out and "saved" not in outcome.out and files(checkpoint) == before


def test_the_speed_is_that_of_what_was_trained_now(tmp_path):
    first = train(tmp_path / "model", epochs=1)
    trainer = json.loads((tmp_path / "model" / "trainer.json").read_text())
    trainer["history"][0]["seconds"] = 1e6
    (tmp_path / "model" / "trainer.json").write_text(json.dumps(trainer))
    again = tmb.train(None if first.folder is None else TRAINED_ON, tmp_path / "model", epochs=2, resume=True)
    assert again.tokens_per_second > 10 * again.state.tokens_per_second
    assert tmb.train(TRAINED_ON, tmp_path / "model", resume=True).tokens_per_second == 0.0


def test_a_resume_stays_on_its_backend_and_says_where_it_runs(cli, checkpoint, monkeypatch):
    monkeypatch.setenv(VARIABLE, "nonesuch")
    outcome = cli("train", "--resume", "--epochs", 61, "--out", checkpoint)
    assert "continuing epoch 61 of 61 with numpy, cpu, float32, as it began" in outcome.out
    outcome = cli("train", "--resume", "--epochs", 62, "--out", checkpoint, "--dtype", "float64")
    assert "continuing epoch 62 of 62 with numpy, cpu, float64, which began with dtype float32" in outcome.out
    assert "(numpy, cpu, float64)" in outcome.out


def test_a_resume_names_all_that_is_not_as_it_began(cli, checkpoint):
    resumed = ("train", "--resume", "--out", checkpoint, "--epochs")
    changes = ("--learning-rate", "0.02", "--clip-norm", 0, "--label-smoothing", "0.1", "--save-every", 3)
    outcome = cli(*resumed, 61, *changes)
    began = "save_every 10, learning_rate 0.01, clip_norm 1.0 and label_smoothing 0.0"
    assert outcome.out.splitlines()[-3].endswith(f"with numpy, cpu, float32, which began with {began}"), outcome.out
    assert "numpy, cpu, float32, as it began" in cli(*resumed, 62).out
    assert "which began with no clip_norm\n" in cli(*resumed, 63, "--clip-norm", 1).out


def test_epochs_that_are_over_are_not_asked_for_again(cli, checkpoint):
    outcome = cli("train", "--resume", "--out", checkpoint, "--epochs", 1)
    assert outcome.status == 0 and outcome.out.endswith("already at epoch 60: epochs must be more than 60 to go on\n")


def test_what_the_model_sees_of_the_corpus_is_said_before_training(cli, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a b c d\tx\na b\tx y\n\ta\na\tz\n")
    command = ("train", "--data", path, "--out", tmp_path / "model", "--epochs", 1, "--num-steps", 3, "--min-freq", 2)
    lines = cli(*command, "--num-hiddens", 8, "--num-heads", 2).out.splitlines()
    assert re.fullmatch(r"3 pairs \(1 lines with a blank side were skipped\); [\d,]+ parameters", lines[0])
    assert lines[1] == "source: vocabulary of 6, 28.6% of 7 words unknown, 33.3% of sentences cut to 3 tokens"
    assert lines[2] == "target: vocabulary of 5, 50.0% of 4 words unknown, 0.0% of sentences cut to 3 tokens"
    counts = tmb.train(path, epochs=1, num_steps=3, min_freq=2, num_hiddens=8, num_heads=2, backend="numpy").corpus
    assert (counts.pairs, counts.skipped, counts.source.cut, counts.source.unknown, counts.target.unknown) == (3, 1, 1, 2, 2)
    shapes = read_checkpoint(tmp_path / "model").weights.values()
    assert counts.parameters == sum(array.size for array in shapes) and f"{counts.parameters:,} par" in lines[0]


def test_validation_is_cross_entropy_per_token_and_perplexity_its_exponential():
    """Against log-probabilities taken from the logits, sentence by sentence; dropout and smoothing have no part in it."""
    trained = train(epochs=1, validation=UNSEEN, dropout=0.4, label_smoothing=0.2)
    translator, total, tokens = trained.translator, 0.0, 0
    for source, target in UNSEEN:
        config, ids = trained.model.config, [*translator.target_vocabulary.encode(target), 3]
        sources = [[*translator.source_vocabulary.encode(source), 3]]
        logits = translator.backend.logits(trained.model, sources, [[config.start_id, *ids[:-1]]])[0].astype(float)
        total -= sum(row[token] - math.log(np.exp(row).sum()) for row, token in zip(logits, ids, strict=True))
        tokens += len(ids)
    assert trained.best.validation_loss == pytest.approx(total / tokens, rel=1e-5)
    assert trained.best.perplexity == pytest.approx(math.exp(total / tokens), rel=1e-4)


def diverging(**options):
    """With this seed the loss of other pairs is lowest amid the training, by more than rounding moves it."""
    return {"validation": UNSEEN, "dropout": 0.1, "seed": 2, **options}


def test_the_best_model_is_kept_and_early_stopping_ends(tmp_path):
    trained = train(tmp_path / "model", epochs=40, early_stopping=4, **diverging())
    losses = [record.validation_loss for record in trained.history]
    best = losses.index(min(losses)) + 1
    assert trained.best.epoch == best == len(losses) - 4 < 36
    alone = train(epochs=best, **diverging())
    for other in (trained.model, tmb.load(tmp_path / "model", backend="numpy")):
        weights = trained.translator.backend.get_weights(other)
        for name, value in alone.translator.backend.get_weights(alone.model).items():
            np.testing.assert_array_equal(weights[name], value)
    last = train(tmp_path / "last", epochs=len(losses), keep="last", **diverging())
    assert files(tmp_path / "last")["model.safetensors"] == files(tmp_path / "model")["last.safetensors"]
    assert last.best.epoch == best and "last.safetensors" not in files(tmp_path / "last")


@pytest.mark.parametrize("stop", [2, 7, 20, 33])
def test_with_validation_a_resume_is_bit_for_bit_the_whole(tmp_path, stop):
    """Stopped amid the first epoch, before and after the best one, and between two; three steps an epoch."""
    whole = train(tmp_path / "whole", epochs=12, **diverging())
    assert 3 < whole.best.epoch < 7
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", epochs=12, progress=InterruptAt(stop), **diverging())
    assert ("last.safetensors" in files(tmp_path / "parts")) == (stop > 3)
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", resume=True, validation=UNSEEN)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and measured(parts) == measured(whole)


def test_early_stopping_and_resumes_need_the_same_validation_pairs(tmp_path):
    with pytest.raises(ConfigError, match="early_stopping needs pairs that are measured"):
        train(epochs=1, early_stopping=2)
    with pytest.raises(ConfigError, match="needs compat_decode = correct"):
        train(epochs=1, validation=UNSEEN, compat_decode="d2l")
    train(tmp_path / "model", epochs=12, **diverging())
    with pytest.raises(DataError, match="resumed with the validation pairs it began with, got others"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging(validation=UNSEEN[:5]))
    (tmp_path / "model" / "last.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"last\.safetensors is missing"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging())


def test_the_command_prints_and_writes_what_validation_measures(cli, settings_file, data, tmp_path):
    command = ("train", settings_file, "--out", tmp_path / "model", "--epochs", 2, "--validation", data)
    outcome = cli(*command, "--json", tmp_path / "run.json")
    found = json.loads((tmp_path / "run.json").read_text())
    first, second = found["history"]
    assert f"validation loss {first['validation_loss']:.4f}, perplexity {first['perplexity']:.2f}" in outcome.err
    assert f"validation loss {second['validation_loss']:.4f}, perplexity {second['perplexity']:.2f}, at epoch 2" in outcome.out
    assert f"loss {second['loss']:.4f}, perplexity {math.exp(second['loss']):.2f}, " in outcome.out
    assert "validation: 40 pairs\ntraining 2 epochs with numpy, cpu, float32\n" in outcome.out
    assert f"validation BLEU         {found['validation']['bleu']['value']:6.2f}" in outcome.out
    assert (found["best_epoch"], found["epoch"], found["stopped_early"], found["corpus"]["pairs"]) == (2, 2, False, 40)


def test_the_printed_configuration_gives_the_same_run(cli, data, tmp_path):
    flags = ("--data", data, "--preset", "annotated", "--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1)
    flags = (*flags, "--num-heads", 2, "--dropout", 0.2, "--epochs", 1, "--num-examples", 20, "--validation", data)
    printed = cli("train", *flags, "--print-config")
    assert printed.status == 0
    path = tmp_path / "run.toml"
    path.write_text(printed.out)
    assert cli("train", *flags, "--out", tmp_path / "flags").status == 0
    assert cli("train", path, "--out", tmp_path / "file").status == 0
    assert files(tmp_path / "flags") == files(tmp_path / "file")
    assert cli("train", path, "--print-config").out == printed.out
    written = {name: set(table) for name, table in tomllib.loads(re.sub(r"(?m)^# (\w+) =$", r"\1 = 0", printed.out)).items()
               if isinstance(table, dict)}  # fmt: skip
    assert written["model"] == {item.name for item in dataclasses.fields(TransformerConfig)} - {*option_words.OF_VOCABULARIES}
    assert written["training"] == {item.name for item in dataclasses.fields(TrainingRecipe)}
    assert written["data"] == set(option_words.DATA)


def test_num_heads_beside_a_sides_own_is_refused(fails, data, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[model]\nnum_heads = 2\nencoder_num_heads = 4\n")
    message = fails("train", path, "--data", data, "--out", tmp_path / "model")
    assert "num_heads says it of both sides, got num_heads = 2 beside encoder_num_heads = 4" in message


def test_the_words_of_options_are_those_of_the_dataclasses():
    declared = {item.name: item.default for item in dataclasses.fields(TrainingRecipe)}
    assert {name: default for name, (default, _) in option_words.TRAINING.items()} == declared
    fields = {item.name for item in dataclasses.fields(TransformerConfig)}
    assert set(option_words.MODEL) == fields - {*option_words.OF_VOCABULARIES}
    assert documented_tables() in PAGE.read_text(), "put the output of `python -m transformer_mb.training.tables` there"


def test_the_section_on_training_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("pairs.tsv", TRAINED_ON), ("unseen.tsv", UNSEEN)):
        Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    train_part = PAGE.read_text().partition("## Train")[2]
    namespace: dict = {}
    exec(re.findall(r"```python\n(.*?)```", train_part, re.DOTALL)[0], namespace)
    assert len(namespace["longer"].history) == 3 and "24 pairs; " in capsys.readouterr().out


def test_pairs_given_in_python_are_checked():
    assert tmb.train(Pairs([("a", "b"), ("", "c")]), epochs=1, backend="numpy").corpus.skipped == 1
    for wrong in ([("a",)], [1], 3):
        with pytest.raises(DataError, match="must be \\(source, target\\) texts"):
            tmb.train(wrong)
    with pytest.raises(ConfigError, match=r"Unknown option\(s\) of train: epoch\. Did you mean epochs\? There are: .*epochs"):
        train(epoch=3)


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
