"""Paths in options: each is called PATH in help, and an address is refused with both of its slashes."""

import re

import pytest

from transformer_mb.data import CorpusFiles, SubwordVocabulary, read_pairs
from transformer_mb.errors import ConfigError, DataError

ADDRESS = "https://example.org/a.tsv"
COMMANDS = ("train", "translate", "evaluate", "score", "generate", "average", "port", "inspect", "parity", "demo")
OF_GROUPS = (("tokenizer", "train"), ("compare", "behaviours"), ("compare", "effects"), ("compare", "runs"))


@pytest.mark.parametrize("command", [*((name,) for name in COMMANDS), *OF_GROUPS], ids=" ".join)
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
