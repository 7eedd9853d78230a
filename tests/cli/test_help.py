"""Help answers without importing what it does not need, and wrong usage is told apart from failure."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

COMMANDS = ("backends", "demo", "train", "translate", "score", "generate", "evaluate")
NOT_NEEDED = {
    "numpy", "safetensors", "sacrebleu", "rich.table", "torch", "tensorflow", "keras", "paddle", "mxnet", "jax", "flax",
    "transformer_mb.backend", "transformer_mb.training", "transformer_mb.data", "transformer_mb.checkpoint",
}  # fmt: skip

IN_A_FRESH_INTERPRETER = """
import io, json, sys
from contextlib import redirect_stdout
from transformer_mb.cli.main import main
texts = {}
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as text:
        assert main(words) == 0, words
    texts[" ".join(words)] = text.getvalue()
print(json.dumps({"texts": texts, "modules": list(sys.modules)}))
"""


def test_help_imports_neither_numpy_nor_any_framework():
    lines = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
    code = [sys.executable, "-c", IN_A_FRESH_INTERPRETER, json.dumps(lines)]
    answer = json.loads(subprocess.run(code, capture_output=True, text=True, check=True).stdout)
    assert not NOT_NEEDED & set(answer["modules"])
    assert all(name in answer["texts"]["--help"] for name in COMMANDS)
    assert answer["texts"]["--version"].startswith("transformer_mb 0.")
    assert "--resume" in answer["texts"]["train --help"]


@pytest.mark.parametrize(
    "words",
    ["translat", "--color", "translate", "evaluate model", "train --epochs many", "translate model --beam 0"],
)
def test_wrong_usage_has_status_2(cli, words):
    outcome = cli(*words.split())
    assert outcome.status == 2 and "Usage: transformer-mb" in outcome.err and "Traceback" not in outcome.err


def test_no_command_shows_the_help(cli):
    outcome = cli()
    assert "Usage: transformer-mb" in outcome.out + outcome.err and outcome.status in (0, 2)


def test_debug_shows_the_traceback_and_its_absence_does_not(cli, tmp_path):
    from transformer_mb.errors import CheckpointError

    with pytest.raises(CheckpointError):
        cli("--debug", "translate", tmp_path / "none")
    outcome = cli("translate", tmp_path / "none")
    assert outcome.status == 2 and outcome.err.startswith("Error: ")


def test_a_bug_is_one_paragraph_too(cli, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("our\nmistake")

    monkeypatch.setattr("transformer_mb.inference.translation.Translator.load", broken)
    outcome = cli("translate", "somewhere")
    assert outcome.status == 1 and outcome.err.count("\n") == 1
    assert outcome.err.startswith("Error: ") and "--debug" in outcome.err


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "transformer_mb", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "Usage: transformer-mb" in done.stdout and "translate" in done.stdout


def test_the_help_writes_values_as_they_are_given(cli):
    text = " ".join(cli("train", "--help").out.split())
    for words in ("adam, adamw or sgd.", "loss, bleu or chrf:"):
        assert words in text


def test_the_help_of_train_shows_defaults(cli):
    text = " ".join(cli("train", "--help").out.split())
    for words in ("before a resume counted. [default: 10]", "above 0. [default: 0.001]", "in a batch. [default: 64]"):
        assert words in text
