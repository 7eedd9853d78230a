"""``tokenizer train`` and ``train --tokenizer``: raw text in and out, from the command line alone."""

import gzip
import json

import numpy as np
import pytest

from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.cli.main import main
from transformer_mb.data import SubwordVocabulary

SMALL = ["--num-hiddens", 16, "--ffn-num-hiddens", 16, "--num-layers", 1, "--batch-size", 8, "--backend", "numpy"]


@pytest.fixture(scope="module")
def tokenizers(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers") / "separate"
    assert main(["tokenizer", "train", "--data", str(data), "--vocab-size", "300", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def subwords(data, tokenizers, tmp_path_factory):
    """A checkpoint of two epochs."""
    folder = tmp_path_factory.mktemp("subwords") / "model"
    command = ["train", "--data", data, "--tokenizer", tokenizers, "--epochs", 2, *SMALL, "--out", folder]
    assert main([str(word) for word in command]) == 0
    return folder


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_each_side_learns_from_its_own_side(tokenizers, pairs):
    source, target = (SubwordVocabulary.from_file(tokenizers / f"{side}.json") for side in ("source", "target"))
    assert len(source) == len(target) == 300 and source.entries != target.entries
    sides = list(zip(*pairs, strict=True))
    for vocabulary, own, other in ((source, *sides), (target, *sides[::-1])):
        tokens = [sum(len(vocabulary.encode(text)) / len(text) for text in texts) for texts in (own, other)]
        assert tokens[0] < tokens[1]


def test_the_same_corpus_in_other_files_gives_the_same(cli, tokenizers, pairs, tmp_path):
    for side, name in enumerate(("a", "b")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    with gzip.open(tmp_path / "c.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"from": source, "to": target}) + "\n" for source, target in pairs)
    ways = {"text": ["--data", tmp_path / "a", "--target", tmp_path / "b"]}
    ways["json"] = ["--data", tmp_path / "c.jsonl.gz", "--fields", "from,to"]
    for name, words in ways.items():
        assert cli("tokenizer", "train", *words, "--vocab-size", 300, "--out", tmp_path / name).status == 0
        assert contents(tmp_path / name) == contents(tokenizers)


def test_nothing_is_replaced_unless_told(cli, fails, data, tokenizers, tmp_path):
    command = ["tokenizer", "train", "--data", data, "--vocab-size", 280, "--out", tmp_path / "out"]
    outcome = cli(*command, "--shared", "--model", "unigram")
    assert outcome.status == 0 and "shared.json: 280 tokens" in outcome.out
    before = contents(tmp_path / "out")
    assert "must be a new file" in fails(*command, "--shared")
    assert "but shared.json is there" in fails(*command, "--force")
    assert "vocab_size must be at least 260" in fails(*command[:5], 5, "--out", tmp_path / "new")
    assert "must be one of bpe, unigram" in fails(*command[:-1], tmp_path / "new", "--model", "word")
    assert contents(tmp_path / "out") == before and not (tmp_path / "new").exists()
    assert cli(*command, "--shared", "--force").status == 0 and contents(tmp_path / "out") != before


def test_a_line_that_is_no_pair_is_named(fails, tmp_path):
    (tmp_path / "bad.tsv").write_text("a\tb\nno tab\n")
    error = fails("tokenizer", "train", "--data", tmp_path / "bad.tsv", "--out", tmp_path / "out")
    assert "bad.tsv, line 2: SOURCE TAB TARGET was expected" in error and not (tmp_path / "out").exists()


def test_raw_text_goes_in_and_out(cli, subwords, pairs, tmp_path, data):
    read = read_checkpoint(subwords)
    assert (read.config.source_vocab_size, read.config.suppress_ids) == (300, (0, 1, 2))
    lines = [source for source, _ in pairs[:3]]
    outcome = cli("translate", subwords, "--backend", "numpy", stdin="\n".join(["", *lines, "  ", "<eos> é\u2581\n"]))
    translations = outcome.out.split("\n")[:-1]
    assert outcome.status == 0 and len(translations) == 6 and translations[0] == translations[4] == ""
    assert any(translations) and not any(special in outcome.out for special in ("<eos>", "<unk>", "\u0120"))
    assert cli("evaluate", subwords, "--data", data, "--num-examples", 5, "--backend", "numpy").status == 0
    assert cli("inspect", subwords).status == 0


def test_a_resume_needs_no_tokenizer_and_takes_no_other(cli, fails, subwords, data, tokenizers, tmp_path):
    whole = ["train", "--data", data, "--tokenizer", tokenizers, *SMALL, "--out"]
    assert cli(*whole, tmp_path / "begun", "--epochs", 1).status == 0
    assert cli("train", "--out", tmp_path / "begun", "--resume", "--epochs", 2).status == 0
    resumed, through = (read_checkpoint(folder) for folder in (tmp_path / "begun", subwords))
    assert all(np.array_equal(resumed.weights[name], value) for name, value in through.weights.items())
    assert resumed.source_vocabulary == through.source_vocabulary
    again = ["train", "--out", tmp_path / "begun", "--resume", "--epochs", 3, "--tokenizer"]
    assert cli(*again, tokenizers).status == 0
    assert "resumed with the vocabularies that its checkpoint holds" in fails(*again, tokenizers / "source.json")


def test_what_cuts_words_is_told_to_have_no_effect(cli, data, tokenizers, tmp_path):
    command = ("train", "--data", data, "--tokenizer", tokenizers, *SMALL, "--epochs", 1, "--out", tmp_path / "model")
    outcome = cli(*command, "--pipeline", "words", "--min-freq", 2)
    notes = [line for line in outcome.out.splitlines() if line.startswith("note: ")]
    assert notes == [f"note: {name} has no effect with a tokenizer" for name in ("pipeline", "min_freq")]


def test_one_table_needs_one_vocabulary(cli, fails, data, tokenizers, tmp_path):
    (tmp_path / "train.toml").write_text(f'[model]\nshare_embeddings = true\n[data]\ntokenizer = "{tokenizers}"\n')
    command = ["train", tmp_path / "train.toml", "--data", data, *SMALL, "--epochs", 1, "--out", tmp_path / "model"]
    assert "share_embeddings needs one vocabulary for both sides" in fails(*command)
    assert cli(*command, "--tokenizer", tokenizers / "source.json").status == 0
    assert read_checkpoint(tmp_path / "model").config.share_embeddings
