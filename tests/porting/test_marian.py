"""MarianMT folders: the same states, logits and tokens as ``transformers`` gives, and back again."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from porting.hugging_face import SMALL, STEPS, VARIANTS, small_marian
from porting.on_backend import BACKENDS
from porting.small_model import on_numpy, refused, spoil
from transformer_mb.data.vocabulary import Vocabulary
from transformer_mb.porting.families import marian
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.positions import sinusoid_table

TABLES, POSITIONS = (
    [f"model.{side}.{table}.weight" for side in ("encoder", "decoder")] for table in ("embed_tokens", "embed_positions")
)
TIED = {"published": (True, True), "two vocabularies": (False, True), "nothing tied": (False, False)}


def worst(got, expected):
    return {name: float(np.abs(got[name] - expected[name]).max()) for name in ("encoder", "logits")}


@pytest.fixture
def published(references):
    return references["published"]


@pytest.fixture
def model(published):
    return marian.read(published.folder, {})


def test_the_reference_shows_what_it_should(published, model):
    """Else equal tokens would say little: some sentences end early, some do not, and padding would win if it might."""
    tokens = published.outputs["tokens"]
    assert min(map(len, tokens)) < STEPS and max(map(len, tokens)) == STEPS
    assert np.mean([len(set(row)) for row in tokens]) > 2
    allowed = replace(model, config=model.config.replace(suppress_ids=()))
    assert on_numpy(allowed, published.batch, steps=STEPS)["tokens"] != tokens


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_outputs_are_those_of_transformers(variant, references):
    reference = references[variant]
    model = marian.read(reference.folder, {})
    got = on_numpy(model, reference.batch, steps=STEPS)
    assert np.max(list(worst(got, reference.outputs).values())) <= 1e-5
    assert got["tokens"] == reference.outputs["tokens"]
    assert (model.config.share_embeddings, model.config.tie_output) == TIED[variant]


@pytest.mark.long(but=2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend(backend, published, on_backend, record_property):
    got = on_backend(backend)["published"]
    errors = worst(got, published.outputs)
    record_property("error", str(errors))
    assert np.max(list(errors.values())) <= 1e-5
    assert got["tokens"] == published.outputs["tokens"]


QUERIES, KEYS, VALUES = (f"decoder.blks.block1.attention2.{name}.weight" for name in ("W_q", "W_k", "W_v"))
BIAS = "decoder.dense.bias"
SPOILT = {
    "a transposed weight": lambda weights: {VALUES: weights[VALUES].T},
    "queries and keys exchanged": lambda weights: {QUERIES: weights[KEYS], KEYS: weights[QUERIES]},
    "no bias of the output": lambda weights: {BIAS: 0 * weights[BIAS]},
}


@pytest.mark.parametrize("change", SPOILT)
def test_a_wrong_weight_shows(change, published, model):
    spoilt = replace(model, weights={**model.weights, **SPOILT[change](model.weights)})
    assert np.max(list(worst(on_numpy(spoilt, published.batch, steps=STEPS), published.outputs).values())) > 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_back_to_transformers(variant, references, written):
    before, after = (load_file(one[variant].folder / "model.safetensors") for one in (references, written))
    unread = {"model.shared.weight"} if variant == "nothing tied" else set()  # nothing uses it where nothing is tied
    assert set(before) - unread == set(after) - unread
    assert all(after[name].tobytes() == value.tobytes() for name, value in before.items() if name not in unread)
    got, expected = written[variant].outputs, references[variant].outputs
    assert worst(got, expected) == {"encoder": 0.0, "logits": 0.0}
    assert got["tokens"] == expected["tokens"]
    assert marian.read(written[variant].folder, {}).config == marian.read(references[variant].folder, {}).config


@pytest.fixture
def small():
    return small_marian()


@pytest.fixture
def folder(small, tmp_path):
    marian.write(small, tmp_path)
    return tmp_path


def test_the_vocabularies(small, tmp_path):
    tokens = ["</s>", "<unk>", "▁the", "s", "▁a", "▁", "<pad>"]
    vocabulary = Vocabulary(tokens, "words", {"unk": 1, "pad": 6, "bos": 6, "eos": 0})
    marian.write(replace(small, source_vocabulary=vocabulary, target_vocabulary=vocabulary), tmp_path)
    assert json.loads((tmp_path / "vocab.json").read_text()) == {token: number for number, token in enumerate(tokens)}
    model = marian.read(tmp_path, {})
    assert model.source_vocabulary == vocabulary == model.target_vocabulary
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<pad>": 1}')
    model = marian.read(tmp_path, {})
    assert model.source_vocabulary is None and "each of the 7 rows" in " ".join(model.notes)


def test_a_port_says_that_words_have_no_tokenizer(small, tmp_path):
    """MarianTokenizer takes SentencePiece alone."""
    tokens = ["</s>", "<unk>", "the", "dog", "a", "cat", "<pad>"]
    special = {"unk": 1, "pad": 6, "bos": 6, "eos": 0}
    words = {f"{side}_vocabulary": Vocabulary(tokens, "words", special) for side in ("source", "target")}
    written = write_target(replace(small, **words), find_target("marian"), tmp_path / "words", {})
    (note,) = written.notes
    assert (
        "no tokenizer in it that transformers could load" in note and "the ids of vocab.json" in note and "of </s> at" in note
    )
    assert write_target(small, find_target("marian"), tmp_path / "none", {}).notes == ()


def test_tables_that_are_said_to_be_tied_and_are_not(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "lm_head.weight": tensors["model.shared.weight"] + 1}, folder / "model.safetensors")
    refused("tie_word_embeddings is true, but lm_head.weight is not", marian.read, folder, {})
    save_file(
        {**tensors, "model.encoder.embed_tokens.weight": tensors["model.shared.weight"] + 1}, folder / "model.safetensors"
    )
    refused("share_encoder_decoder_embeddings is true, but", marian.read, folder, {})
    copies = dict.fromkeys((*TABLES, "lm_head.weight"), tensors["model.shared.weight"])
    save_file({**tensors, **copies}, folder / "model.safetensors")
    assert marian.read(folder, {}).config == SMALL
    del tensors["model.shared.weight"]
    save_file(tensors, folder / "model.safetensors")
    refused(r"must hold shared.weight or", marian.read, folder, {})


def test_sinusoids_in_the_file_are_checked_and_dropped(folder, small):
    tensors, table = load_file(folder / "model.safetensors"), sinusoid_table(10, 8, "halves").astype(np.float32)
    save_file({**tensors, POSITIONS[0]: table, POSITIONS[1]: table}, folder / "model.safetensors")
    assert set(marian.read(folder, {}).weights) == set(small.weights)
    save_file({**tensors, POSITIONS[1]: table[:, ::-1].copy()}, folder / "model.safetensors")
    refused("must be the table of sinusoids", marian.read, folder, {})


def test_words_that_are_never_generated(folder):
    """``transformers`` takes no notice of the end token among bad words."""
    spoil(folder / "generation_config.json", bad_words_ids=[[6], [0], [3]], suppress_tokens=[2, 3])
    model = marian.read(folder, {})
    assert model.config.suppress_ids == (6, 3, 2)
    assert model.native.settings["generation"]["bad_words_ids"] == [[6], [0], [3]]
    (folder / "generation_config.json").unlink()
    assert marian.read(folder, {}).config.suppress_ids == ()
    assert marian.read(folder, {"suppress_ids": [6]}).config == SMALL


def test_a_folder_of_older_releases(folder):
    """They wrote no field at its default, and kept what generation needs in config.json."""
    (folder / "generation_config.json").unlink()
    absent = ("decoder_vocab_size", "share_encoder_decoder_embeddings", "tie_word_embeddings")
    spoil(folder / "config.json", **dict.fromkeys(absent), bad_words_ids=[[6]], num_beams=6, static_position_embeddings=True)
    assert marian.read(folder, {}).config == SMALL
