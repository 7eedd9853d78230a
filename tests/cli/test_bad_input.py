"""What users do wrong: one readable paragraph, a status other than 0, and nothing half-written."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from transformer_mb.built_in import BUILT_IN, Entry
from transformer_mb.registry import VARIABLE


@pytest.fixture
def train_fails(fails, tmp_path, settings_file):
    """``train`` with a bad part; no folder may be left behind, nor anything hidden beside it."""

    def run(*arguments: object) -> str:
        (tmp_path / "runs").mkdir(exist_ok=True)
        epochs = () if "--epochs" in arguments else ("--epochs", 1)
        message = fails("train", settings_file, *epochs, "--out", tmp_path / "runs" / "model", *arguments)
        assert os.listdir(tmp_path / "runs") == []
        return message

    return run


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There is no file"),
        (b"", "is empty"),
        (b"go .\tva !\nno tab here\n", "line 2: SOURCE TAB TARGET was expected, but there is no tab in 'no tab here'"),
        (b"go .\tva !\nd\xe9j\xe0\tvu\n", "must be UTF-8 text, but line 2"),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_data_that_cannot_be_read(train_fails, fails, trained, tmp_path, command, content, words):
    path = tmp_path / "bad.tsv"
    if content is not None:
        path.write_bytes(content)
    message = train_fails("--data", path) if command == "train" else fails("evaluate", trained, "--data", path)
    assert words in message and str(path) in message


def test_no_data_and_no_folder_were_named(fails, tmp_path):
    assert "--data FILE" in fails("train", "--out", tmp_path / "model")
    assert "--out DIR" in fails("train", "--data", tmp_path / "data.tsv")
    assert "There is no configuration file" in fails("train", tmp_path / "none.toml", "--out", tmp_path / "model")


def test_an_unknown_backend_and_one_that_is_not_installed(train_fails, fails, trained, monkeypatch):
    absent = Entry("transformer_mb.backends.absent", ("no_such_package",), "pip install absent")
    monkeypatch.setitem(BUILT_IN, "absent", absent)
    for run in (train_fails, lambda *words: fails("translate", trained, *words)):
        assert "The backend must be one of numpy" in run("--backend", "nonsense")
        message = run("--backend", "absent")
        assert "no_such_package is not installed" in message and "pip install absent" in message
        assert "dtype" in run("--dtype", "float8") and "device" in run("--backend", "numpy", "--device", "tpu")


def damage_tensors(folder, change) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def damage_config(folder, change) -> None:
    described = json.loads((folder / "config.json").read_text())
    change(described)
    (folder / "config.json").write_text(json.dumps(described))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors"),
        (lambda folder: (folder / "config.json").unlink(), "config.json is missing"),
        (lambda folder: (folder / "target_vocabulary.json").unlink(), "target_vocabulary.json is missing"),
        (lambda folder: os.truncate(folder / "model.safetensors", 1000), "damaged"),
        (
            lambda folder: damage_tensors(folder, lambda t: t.pop("encoder.embedding.weight")),
            "missing encoder.embedding.weight",
        ),
        (lambda folder: damage_tensors(folder, lambda t: t.update(extra=np.zeros(3))), "unexpected extra [3]"),
        (
            lambda folder: damage_tensors(folder, lambda t: t.update({"decoder.dense.bias": np.zeros(2)})),
            "decoder.dense.bias must have shape",
        ),
        (lambda folder: damage_config(folder, lambda c: c.update(format_version=2)), "a newer transformer_mb wrote it"),
        (lambda folder: damage_config(folder, lambda c: c["config"].update(eos_id=999)), "eos_id must be from 0 to"),
        (lambda folder: damage_config(folder, lambda c: c["config"].update(num_hiddens=33)), "33 is not divisible by 4"),
    ],
)
def test_a_checkpoint_that_is_damaged(fails, checkpoint, damage, words):
    damage(checkpoint)
    for command in (["translate", checkpoint], ["train", "--resume", "--out", checkpoint]):
        message = fails(*command)
        assert words in message and str(checkpoint) in message


def test_no_checkpoint_at_all(fails, tmp_path):
    assert "got nothing" in fails("translate", tmp_path / "none")
    (tmp_path / "file").write_text("")
    assert "got a file" in fails("translate", tmp_path / "file")
    assert "config.json is missing" in fails("translate", tmp_path)


def test_a_line_that_is_too_long_is_named(fails, trained, train_fails, data, tmp_path):
    long = tmp_path / "long.tsv"
    long.write_text(data.read_text() + "word " * 30 + "\tmot\n")
    assert "long.tsv, line 41: the source must be at most 30 tokens long" in train_fails("--data", long)
    message = fails("translate", trained, "--max-steps", 31, stdin="go .")
    assert "max_steps must be from 1 to max_len = 30, got 31" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("num_hiddens = 30", "num_hiddens must be divisible by encoder_num_heads, but 30 is not divisible by 4"),
        ("decoder_start_id = 999", "decoder_start_id must be from 0 to"),
        ("color = 3", "Unknown field(s) of [model]: color"),
        ("eos_id = 4", "[model] must leave out eos_id"),
        ('preset = "gpt9"', "The preset must be one of d2l"),
        ('architecture = "decoder"', "architecture must be encoder_decoder to be trained on sentence pairs, got 'decoder'"),
    ],
)
def test_a_model_that_cannot_be(fails, tmp_path, data, line, words):
    path = tmp_path / "train.toml"
    path.write_text(f'[model]\n{line}\n[data]\nsource = "{data}"\n')
    assert words in fails("train", path, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_recipe_that_cannot_be(train_fails):
    assert "epochs must be at least 1" in train_fails("--epochs", 0)
    assert "learning_rate must be positive" in train_fails("--learning-rate", -1)
    assert "optimizer must be one of adam, adamw, sgd" in train_fails("--optimizer", "adagrad")


def test_a_place_that_cannot_be_written(fails, settings_file, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "must be a folder" in fails("train", settings_file, "--out", tmp_path / "file")
    assert "must be a folder that may be written to" in fails("train", settings_file, "--out", tmp_path / "file" / "model")
    (tmp_path / "notes.txt").write_text("mine")
    assert "nothing is written" in fails("train", settings_file, "--out", tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["file", "notes.txt"]


def test_a_results_file_that_cannot_be_written(fails, trained, data, tmp_path):
    (tmp_path / "file").touch()
    message = fails("evaluate", trained, "--data", data, "--json", tmp_path / "file" / "scores.json")
    assert "scores.json: Not a directory" in message


@pytest.mark.parametrize("command", [("backends",), ("demo",), ("inspect", "MODEL"), ("evaluate", "MODEL", "--data", "DATA")])
def test_a_results_file_is_looked_at_before_the_work(cli, trained, data, tmp_path, command):
    named = {"MODEL": trained, "DATA": data}
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for place, words in (("file/a.json", "Not a directory"), ("folder", "Is a directory")):
        outcome = cli(*(named.get(word, word) for word in command), "--json", tmp_path / place)
        assert outcome.status == 2 and outcome.out == "" and words in outcome.err
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_full_disk_while_saving(fails, train_fails, checkpoint, request):
    before = (checkpoint / "model.safetensors").read_bytes()
    request.getfixturevalue("disk_full")
    assert "cannot be written: No space left on device" in train_fails()
    message = fails("train", "--resume", "--epochs", 61, "--out", checkpoint)
    assert "No space left on device" in message and "What was there before is unchanged" in message
    assert (checkpoint / "model.safetensors").read_bytes() == before
    assert sorted(os.listdir(checkpoint.parent)) == ["model", "runs"]


def test_an_error_does_not_move_the_cursor(fails, tmp_path):
    message = fails("inspect", tmp_path / "\x1b[2J\x07name")
    assert "\x1b" not in message and "\x07" not in message and r"\x1b[2J\x07name" in message


def test_the_option_of_fields_is_named(fails, tmp_path):
    lines = tmp_path / "pairs.jsonl"
    lines.write_text('{"a": "go .", "b": "va !"}\n')
    assert "--fields" in fails("train", "--data", lines, "--out", tmp_path / "model")


def test_a_tokenizer_that_is_not_there_is_named(fails, data, tmp_path):
    message = fails("train", "--data", data, "--out", tmp_path / "model", "--tokenizer", tmp_path / "nowhere")
    assert message == f"Error: The tokenizer must be a file or a folder, but there is no {tmp_path / 'nowhere'}."


def test_words_given_as_a_tokenizer_are_told_their_own_option(fails, data, trained, tmp_path):
    source, target = (trained / f"{side}_vocabulary.json" for side in ("source", "target"))
    (tmp_path / "words.txt").write_text("go\n")
    for given, said in (
        (trained, f"--vocabulary {source} --target-vocabulary {target} takes them."),
        (source, "is given as vocabulary (--vocabulary FILE"),
        (tmp_path / "words.txt", "is given as vocabulary (--vocabulary FILE"),
    ):
        message = fails("train", "--data", data, "--epochs", 1, "--out", tmp_path / "model", "--tokenizer", given)
        assert said in message and str(given) in message


def test_a_backend_from_the_environment_says_so(fails, monkeypatch):
    monkeypatch.setenv(VARIABLE, "foo")
    assert "got 'foo' from the environment variable TRANSFORMER_MB_BACKEND." in fails("demo")
    assert VARIABLE not in fails("demo", "--backend", "foo")


@pytest.mark.parametrize("place", ["file", "/proc/logs"])
def test_a_folder_for_tensorboard_is_tried_before_the_work(cli, data, tmp_path, place):
    (tmp_path / "file").write_text("")
    outcome = cli("train", "--data", data, "--out", tmp_path / "model", "--tensorboard", tmp_path / place)
    assert outcome.status == 2 and "must be a folder that may be written to" in outcome.err
    assert "training" not in outcome.out and not (tmp_path / "model").exists()


def test_of_many_wrong_shapes_three_are_named_and_the_rest_counted(fails, checkpoint):
    path = checkpoint / "config.json"
    content = json.loads(path.read_text())
    content["config"]["num_hiddens"] = 64
    path.write_text(json.dumps(content))
    message = fails("translate", checkpoint)
    assert message.count("must have shape") == 3 and len(message) < 600
    assert int(message.rsplit("; and ", 1)[1].removesuffix(" more of another shape.")) > 5


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
    assert "1 of 1 pair is too long. Remedies: num_steps (--num-steps 30), which cuts them" in message
    message = fails("train", settings_file, "--out", tmp_path / "model", "--clip-norm", "-1")
    assert "clip_norm must be positive, or None for no limit (0 in a flag or a file), got -1.0." in message
