"""Help, options given twice, and paths that are none: what a command says of how it is used."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from transformer_mb.built_in import BUILT_IN
from transformer_mb.cli.main import app
from transformer_mb.data import CorpusFiles, SubwordVocabulary, read_pairs
from transformer_mb.errors import ConfigError, DataError
from transformer_mb.training_options import DECODING, MODEL, TRAINING

COMMANDS = ("backends", "demo", "train", "translate", "score", "generate", "evaluate")
NOT_NEEDED = {
    "safetensors", "sacrebleu", "rich.table", *(package for entry in BUILT_IN.values() for package in entry.requires),
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


def test_the_help_of_train_shows_defaults_and_values_as_they_are_given(cli):
    text = " ".join(cli("train", "--help").out.split())
    defaults = ("before a resume counted. [default: 10]", "above 0. [default: 0.001]", "in a batch. [default: 64]")
    assert all(words in text for words in ("adam, adamw or sgd.", "loss, bleu or chrf:", *defaults))


def test_the_help_of_train_has_its_options_under_headings_of_their_own(cli):
    from transformer_mb.cli.commands.train.flags import PANELS

    text = cli("train", "--help").out
    headings = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Arguments", *PANELS] == ["Arguments", "Data", "Model", "Training", "Output", "Processes"]
    data, _, rest = text.partition("\nModel:")
    assert "--data PATH" in data and "--num-heads" in rest.partition("\nTraining:")[0] and "--out PATH" not in data
    assert max(map(len, text.splitlines())) <= 80


# Options given twice, and fields of a file asked for as options.


def commands(group, *path):
    for name, one in group.commands.items():
        yield from commands(one, *path, name) if hasattr(one, "commands") else [((*path, name), one)]


EVERY_COMMAND = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_no_option_with_one_value_is_given_twice(cli, path):
    """The first of two values would be lost without a word."""
    options = [one for one in EVERY_COMMAND[path].params if one.param_type_name == "option" and not one.is_flag]
    for option in options:
        outcome = cli(*path, f"{option.opts[0]}=1", f"{option.opts[0]}=2")
        assert outcome.status == 2
        assert (f"{option.opts[0]} must be given once, got it twice." in outcome.err) != option.multiple


def test_two_files_of_pairs_are_refused(cli, data, tmp_path):
    outcome = cli("train", "--data", data, "--data", data, "--out", tmp_path / "model")
    assert outcome.status == 2 and not (tmp_path / "model").exists()
    assert outcome.err.splitlines()[-1] == "Error: --data must be given once, got it twice."


def test_a_flag_without_a_value_may_come_twice(cli):
    assert cli("train", "--force", "--force", "--print-config").status == 0


def test_a_field_that_has_no_option_is_said_to_be_one_of_a_file(cli):
    flags = {option for parameter in EVERY_COMMAND["train",].params for option in parameter.opts}
    for table, names in (("[model]", MODEL), ("[training]", TRAINING), ("[decoding]", DECODING)):
        for name in names:
            flag = f"--{name.replace('_', '-')}"
            if flag not in flags:
                words = cli("train", flag, "3").err.splitlines()[-1]
                assert f"No such option: {flag}. {name} is a field of a file: {table} in CONFIG.toml" in words
    assert "is a field of a file" not in cli("translate", "--norm-position", "pre").err
    assert "No such option: --epoch" in cli("train", "--epoch", 3).err


# Paths in options: each is called PATH in help, and an address is refused with both of its slashes.

ADDRESS = "https://example.org/a.tsv"
OF_PATHS = ("train", "translate", "evaluate", "score", "generate", "average", "port", "inspect", "parity", "demo")
OF_GROUPS = (("tokenizer", "train"), ("compare", "behaviours"), ("compare", "effects"), ("compare", "runs"))


@pytest.mark.parametrize("command", [*((name,) for name in OF_PATHS), *OF_GROUPS], ids=" ".join)
def test_help_has_one_word_for_a_path(cli, command):
    text = cli(*command, "--help").out
    assert not re.search(r"<\w*path\w*>", text, re.IGNORECASE) and ("PATH" in text or command == ("generate",))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("train", "--data", ADDRESS, "--out", "m"), "--data"),
        (("train", "--data", "a.en", "--target", ADDRESS, "--out", "m"), "--target"),
        (("train", "--data", "a.tsv", "--out", ADDRESS), "--out"),
        (("train", ADDRESS), "CONFIG.toml"),
        (("evaluate", "m", "--data", ADDRESS), "--data"),
        (("translate", ADDRESS), "DIR..."),
        (("translate", "m", "--prefix-file", ADDRESS), "--prefix-file"),
        (("tokenizer", "train", "--data", "a.tsv", "--out", ADDRESS), "--out"),
        (("inspect", ADDRESS), "PATH"),
        (("average", "m", ADDRESS, "--out", "x"), ""),
    ],
)
def test_an_address_is_no_path(cli, arguments, name):
    outcome = cli(*arguments)
    assert outcome.status == 2 and f"{name} must be a path on this machine, got the address {ADDRESS}." in outcome.err


def test_python_names_an_address_as_it_was_given(tmp_path, monkeypatch):
    for read in (read_pairs, SubwordVocabulary.from_file, lambda path: CorpusFiles(path).digest()):
        with pytest.raises(DataError, match=re.escape(ADDRESS)):
            read(ADDRESS)
    import transformer_mb as tmb

    with pytest.raises(ConfigError, match=f"must be a path on this machine, got the address {re.escape(ADDRESS)}"):
        tmb.load(ADDRESS)
    monkeypatch.chdir(tmp_path)
    for options in ({"folder": ADDRESS}, {"cache": ADDRESS}):
        with pytest.raises(ConfigError, match=f"on this machine, got the address {re.escape(ADDRESS)}"):
            (tmp_path / "a.tsv").write_text("a\tb\n")
            tmb.train(tmp_path / "a.tsv", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsv"]
