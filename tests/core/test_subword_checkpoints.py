"""A checkpoint keeps the tokenizers of its subwords, and takes no other ones for its own."""

import json
import shutil
from pathlib import Path

import pytest

import transformer_mb as tmb
from core.test_subwords import SENTENCES, sentencepiece_model
from transformer_mb.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from transformer_mb.checkpoint.files import VOCABULARIES
from transformer_mb.data import SubwordVocabulary, Vocabulary, train_subwords
from transformer_mb.data.subwords import read_tokenizers_of
from transformer_mb.errors import CheckpointError
from transformer_mb.initialization import initial_weights


def made(source, target, folder):
    config = tmb.presets.d2l(len(source), len(target), num_hiddens=8, ffn_num_hiddens=8, num_layers=1, num_heads=2)
    parts = Checkpoint(config=config, weights=initial_weights(config, 0), source_vocabulary=source, target_vocabulary=target)
    write_checkpoint(folder, parts)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Its source is of the library tokenizers, its target of SentencePiece."""
    source = train_subwords(SENTENCES, 280)
    target = SubwordVocabulary("sentencepiece", sentencepiece_model(pad_id=1, bos_id=2, eos_id=3))
    return made(source, target, tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "model"))


def refused(folder, *words):
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(folder)
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)


def test_it_comes_back_whole(folder, tmp_path):
    read = read_checkpoint(folder)
    assert (read.source_vocabulary.kind, read.target_vocabulary.kind) == ("tokenizers", "sentencepiece")
    assert {file.name for file in folder.glob("*tokenizer*")} == {"source_tokenizer.json", "target_tokenizer.model"}
    shutil.move(folder, tmp_path / "elsewhere")  # nothing outside the folder is needed
    again = read_checkpoint(tmp_path / "elsewhere")
    assert again.source_vocabulary == read.source_vocabulary and again.target_vocabulary == read.target_vocabulary
    assert again.source_vocabulary.content == (tmp_path / "elsewhere" / "source_tokenizer.json").read_bytes()
    words = Vocabulary(read.source_vocabulary.entries, "words", read.source_vocabulary.special)
    assert words != read.source_vocabulary and read.source_vocabulary != words


def test_its_tokenizers_can_be_trained_with(folder):
    saved = read_checkpoint(folder)
    assert read_tokenizers_of(folder) == (saved.source_vocabulary, saved.target_vocabulary)


def test_words_in_their_place_leave_no_tokenizer_behind(folder):
    words = Vocabulary.from_tokens([["go"]])
    made(words, words, folder)
    assert not list(folder.glob("*tokenizer*")) and read_checkpoint(folder).source_vocabulary == words


@pytest.mark.parametrize("name", ["source_tokenizer.json", "target_tokenizer.model"])
def test_a_tokenizer_that_is_missing_damaged_or_another(name, folder):
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    refused(folder, name, "is missing")
    for damaged in (b"", content[:-1], content + b" ", content[: len(content) // 2]):
        (folder / name).write_bytes(damaged)
        refused(folder, name.split("_")[0] + "_vocabulary.json", "the file with the SHA-256")
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, name, "cannot be read")


def vocabulary_fields(folder):
    return json.loads((folder / VOCABULARIES["source"]).read_text())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokenizer": 5}, "tokenizer must be a str, got 5"),
        ({"tokenizer": None, "pipeline": "words"}, "got 'tokens', 'pipeline', 'special', 'tokenizer'"),
        ({"pipeline": "sentencepiece"}, "source_tokenizer.model is missing"),
        ({"tokens": ["<unk>", "<pad>", "<bos>", "<eos>"]}, "must be those of its tokenizer"),
        ({"special": {"unk": 0, "pad": 1, "bos": 2, "eos": 280}}, "eos must be from 0 to 279, got 280"),
        ({"pipeline": []}, "fields tokens, pipeline, special, got"),
    ],
)
def test_a_vocabulary_that_lies(changes, words, folder):
    (folder / VOCABULARIES["source"]).write_text(json.dumps({**vocabulary_fields(folder), **changes}))
    refused(folder, VOCABULARIES["source"].split("_")[0], words)


def test_both_files_of_another_training(folder, tmp_path):
    """Each is whole, and of as many tokens, but the weights were saved with others."""
    other = train_subwords(SENTENCES[50:], 280)
    assert len(other) == 280 and other.entries != read_checkpoint(folder).source_vocabulary.entries
    made(other, other, tmp_path / "other")
    for name in ("source_vocabulary.json", "source_tokenizer.json"):
        shutil.copy(tmp_path / "other" / name, folder / name)
    refused(folder, "source_vocabulary.json must be the one that model.safetensors was saved with")
