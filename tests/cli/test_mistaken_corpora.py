"""Corpora that a command is given by mistake: swapped sides, a column of numbers, endless files of settings."""

import pytest

from transformer_mb.data import SubwordVocabulary, build_vocabularies, demo_pairs, train_subwords
from transformer_mb.data.swapped import swapped_note

PAIRS = demo_pairs()[0][:80]
SWAPPED = [(target, source) for source, target in PAIRS]


@pytest.fixture
def files(tmp_path):
    for name, pairs in (("pairs", PAIRS), ("swapped", SWAPPED)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    lines = (tmp_path / "pairs.tsv").read_text().splitlines()
    (tmp_path / "ids.tsv").write_text("".join(f"{number}\t{line}\n" for number, line in enumerate(lines, start=1)))
    return tmp_path


def test_swapped_sides_are_known_by_their_unknown_words():
    both = build_vocabularies(PAIRS)
    assert swapped_note(PAIRS, both) is None and swapped_note([("xx yy", "zz")] * 9, both) is None
    note = swapped_note(SWAPPED, both)
    assert note.startswith("the two sides seem to be swapped: ") and note.endswith(
        "0% would be with source and target exchanged"
    )
    shared = build_vocabularies(PAIRS, shared=True)
    subwords = SubwordVocabulary("tokenizers", train_subwords([side for pair in PAIRS for side in pair], 300).content)
    assert swapped_note(SWAPPED, shared) is None and swapped_note(SWAPPED, (subwords, subwords)) is None


def test_commands_say_that_sides_are_swapped_and_take_columns(cli, files):
    options = ("--epochs", 1, "--num-hiddens", 8, "--validation")
    trained = cli("train", "--data", files / "pairs.tsv", "--out", files / "m", *options, files / "swapped.tsv")
    assert trained.status == 0 and "note: validation: the two sides seem to be swapped: " in trained.out
    again = cli("train", "--data", files / "pairs.tsv", "--out", files / "n", *options, files / "pairs.tsv")
    assert "swapped" not in again.out and "note: the validation measures the pairs that are trained on" in again.out
    assert "Note: the two sides seem to be swapped" in cli("evaluate", files / "m", "--data", files / "swapped.tsv").err
    for command in (("evaluate", files / "m"), ("score", files / "m"), ("tokenizer", "train", "--out", files / "t")):
        refused = cli(*command, "--data", files / "ids.tsv")
        assert refused.status == 2 and "column 1 holds only numbers" in refused.err
        taken = cli(*command, "--data", files / "ids.tsv", "--columns", "2,3")
        assert taken.status == 0 and "swapped" not in taken.err
    wrong = cli("evaluate", files / "m", "--data", files / "ids.tsv", "--columns", "2,x")
    assert "columns must be two different numbers from 1 on, source first, got [2, 'x']." in wrong.err


def test_settings_without_an_end_are_refused(cli):
    outcome = cli("train", "/dev/zero", "--out", "m")
    assert outcome.status == 2 and "/dev/zero must be TOML, but it is not: it has more than 16,777,216 bytes" in outcome.err
