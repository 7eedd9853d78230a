"""``tokenizer`` and ``train`` on corpora: caches, and corpora that are given by mistake."""

import json
import os
import subprocess
import sys

import pytest

from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import SubwordVocabulary, build_vocabularies, demo_pairs, train_subwords
from transformer_mb.data.vocabulary import swapped_note
from transformer_mb.training import corpus_source

SMALL = ("--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1, "--num-heads", 2, "--backend", "numpy")
TOKENS = ("--batch-tokens", 120)


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture
def train(cli, data, tmp_path):
    def run(name, *options):
        outcome = cli("train", "--data", data, "--out", tmp_path / name, "--epochs", 2, *SMALL, *options)
        assert outcome.status == 0, outcome.err
        return outcome

    return run


def test_a_cached_corpus_trains_the_same_model_and_is_tokenized_once(train, tmp_path, monkeypatch):
    first = train("plain", *TOKENS)
    assert not (tmp_path / "plain.cache").exists()
    cached = train("cached", *TOKENS, "--cache", tmp_path / "cache")
    assert weights(tmp_path / "cached") == weights(tmp_path / "plain")
    assert cached.out.splitlines()[:3] == first.out.splitlines()[:3]  # pairs, vocabularies, unknown words
    monkeypatch.setattr("transformer_mb.data.token_cache.write_tokens", None)
    monkeypatch.setattr("transformer_mb.training.corpus_source.build_vocabularies", None)
    train("again", *TOKENS, "--cache", tmp_path / "cache")
    assert weights(tmp_path / "again") == weights(tmp_path / "plain")


def test_a_large_corpus_gets_a_cache_beside_its_checkpoint(train, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_source, "IN_MEMORY", 100)
    monkeypatch.setattr(corpus_source, "FEW", 10)
    train("few", "--num-examples", 10)
    assert not (tmp_path / "few.cache").exists()
    train("large", "--num-examples", 11)
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "large.cache").iterdir()) == ["pairs", "vocabularies"]


@pytest.mark.parametrize("cached", [False, True])
def test_a_training_by_tokens_goes_on_in_mid_epoch(train, cli, fails, data, tmp_path, monkeypatch, cached):
    options = (*TOKENS, *(("--cache", tmp_path / "cache") if cached else ()))
    train("whole", *options)
    from transformer_mb.training import loop

    class Enough(Exception):
        pass

    write = loop.write_checkpoint

    def write_and_end(*arguments):
        write(*arguments)
        raise Enough

    with monkeypatch.context() as patched:
        patched.setattr(loop, "write_checkpoint", write_and_end)
        command = ("train", "--data", data, "--out", tmp_path / "parts", "--epochs", 2, *SMALL, *options)
        assert cli(*command, "--save-every-steps", 2).status == 1
    trainer = json.loads((tmp_path / "parts" / "trainer.json").read_text())
    assert trainer["step"] == trainer["batch"] == 2 and trainer["recipe"]["batch_size"] is None
    assert cli("train", "--resume", "--out", tmp_path / "parts").status == 0
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    message = fails("train", "--resume", "--out", tmp_path / "parts", "--batch-tokens", 121)
    assert "batch_tokens was 120 and is 121" in message
    message = fails("train", "--resume", "--out", tmp_path / "parts", "--batch-size", 8)
    assert "batch_size was None and is 8; batch_tokens was 120 and is None" in message


def test_a_cached_training_is_resumed_with_its_own_pairs_alone(train, fails, data, tmp_path):
    train("model", "--cache", tmp_path / "cache")
    other = tmp_path / "other.tsv"
    other.write_text(data.read_text().replace("he ", "she "))
    message = fails("train", "--resume", "--out", tmp_path / "model", "--data", other)
    assert "with the sentence pairs it began with, got others" in message and "40 as before" in message


def test_several_processes_make_one_cache(data, tmp_path):
    command = ("train", "--data", data, "--epochs", 2, *SMALL, *TOKENS, "--dropout", 0, "--cache", tmp_path / "cache")
    for name, processes in (("one", 1), ("two", 2)):
        arguments = map(str, (*command, "--out", tmp_path / name, "--processes", processes))
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "transformer_mb", *arguments], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "cache").glob("pairs-*"))) == 1
    one, two = (read_checkpoint(tmp_path / name) for name in ("one", "two"))
    for name, tensor in one.weights.items():
        assert abs(tensor - two.weights[name]).max() < 1e-5, name


def test_bad_lines_stop_a_training_or_are_dropped_and_told(cli, fails, data, tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_bytes(data.read_bytes() + b"caf\xe9\tx\na\0\tx\n" + b"long " * 2000 + b"\tx\n")
    command = ("train", "--data", path, "--out", tmp_path / "model", "--epochs", 1, *SMALL)
    assert "line 41, byte" in fails(*command)
    outcome = cli(*command, "--bad-lines", "drop", "--json", tmp_path / "result.json")
    assert outcome.status == 0
    assert outcome.out.splitlines()[:4] == [
        outcome.out.splitlines()[0],
        "lines that are no UTF-8 text: 1 dropped",
        "lines with NUL characters: 1 dropped",
        "pairs longer than the model takes: 1 dropped",  # max_len is 1000
    ]
    assert outcome.out.startswith("40 pairs; ")
    assert json.loads((tmp_path / "result.json").read_text())["corpus"]["bad_lines"] == {"no_utf8": 1, "nul": 1}
    assert cli("train", "--resume", "--out", tmp_path / "model", "--epochs", 2).status == 0  # it knows how it read
    assert "bad_lines must be one of stop, drop, got 'skip'." in fails(*command, "--force", "--bad-lines", "skip")


def test_translate_keeps_the_place_of_a_line_that_it_drops(cli, trained, pairs):
    (source, target), (other, translated) = pairs[:2]
    text = source.encode() + b"\r\n" + b"caf\xe9\n" + other.encode() + b"\na\0b\n\xef\xbb\xbf" + source.encode() + b"\n"
    stopped = cli("translate", trained, stdin=text)
    assert stopped.status == 2 and stopped.out.splitlines() == [target]
    assert "Standard input must be UTF-8 text, but line 2" in stopped.err
    dropped = cli("translate", trained, "--bad-lines", "drop", stdin=text)
    assert dropped.status == 0 and dropped.out.split("\n") == [target, "", translated, "", target, ""]
    assert dropped.err.splitlines() == [
        "Note: lines that are no UTF-8 text: 1 dropped.",
        "Note: lines with NUL characters: 1 dropped.",
        "Note: lines that end in CR LF: 1 read as LF.",
        "Note: lines that begin with a byte-order mark: 1 read without it.",
    ]
    nul = cli("translate", trained, stdin=f"{source}\na\0b\n")
    assert nul.status == 2 and nul.out.splitlines() == [target]
    assert "Standard input, line 2, must be a line of text, but is one with NUL characters." in nul.err


def test_evaluate_drops_bad_lines(cli, fails, trained, data, tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"caf\xe9\tx\n" + data.read_bytes())
    assert "line 1, byte 3 of the whole" in fails("evaluate", trained, "--data", path)
    outcome = cli("evaluate", trained, "--data", path, "--bad-lines", "drop")
    assert outcome.status == 0 and "of 40 pairs" in outcome.out
    assert outcome.err == "Note: lines that are no UTF-8 text: 1 dropped.\n"


@pytest.mark.long
def test_fifty_thousand_lines_keep_their_order_and_a_reader_may_leave(trained, pairs, tmp_path):
    lines = [pairs[number % 40][0] if number % 7 else "" for number in range(50_000)]
    expected = [pairs[number % 40][1] if number % 7 else "" for number in range(50_000)]
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "transformer_mb", "translate", str(trained), "--batch-size", "512"]
    with path.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and done.stdout.count("\n") == 50_000
    wrong = sum(found != target for found, target in zip(done.stdout.split("\n"), expected, strict=False))
    known = sum(1 for found, target in zip(done.stdout.split("\n"), expected, strict=False) if not target and found)
    assert known == 0 and wrong < 0.1 * 50_000  # the model knows its forty sentences, or nearly all
    again = {}
    for line, found in zip(lines, done.stdout.split("\n"), strict=False):
        assert again.setdefault(line, found) == found
    with path.open("rb") as file:
        head = subprocess.run(
            ["sh", "-c", f"{' '.join(command)} | head -n 3"], stdin=file, capture_output=True, text=True, timeout=120
        )
    assert head.returncode == 0 and head.stderr == "" and head.stdout.split("\n")[:3] == done.stdout.split("\n")[:3]


# Corpora that a command is given by mistake: swapped sides, a column of numbers, endless files of settings.

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
