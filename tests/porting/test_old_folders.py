"""Folders of ``transformers`` that say less than new ones: sizes alone, and more rows than tokens."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import transformer_mb as tmb
from porting.hugging_face import small_bert, small_marian
from porting.small_model import refused, spoil
from transformer_mb.data import train_subwords
from transformer_mb.data.vocabulary import Vocabulary
from transformer_mb.errors import PortError
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.families import bert, marian
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.model import PortedModel

# The fields of a public config.json of 2019.
LISTED = """attention_probs_dropout_prob hidden_act hidden_dropout_prob hidden_size initializer_range intermediate_size
    max_position_embeddings num_attention_heads num_hidden_layers type_vocab_size vocab_size"""
OLD = LISTED.split()


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "old"
    folder.mkdir()
    bert.write(small_bert(), folder)
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({name: values.get(name, 0.02) for name in OLD}))
    return folder


def test_sizes_alone_are_read_with_from_and_the_settings(old):
    said = {"norm_eps": 1e-12, "pad_id": 0}
    refused("it names no model .model_type, architectures.: from bert .--from. reads it", read_source, old, None, said)
    model = read_source(old, "bert", said).model
    wanted = small_bert()
    assert all(np.array_equal(model.weights[name], array) for name, array in wanted.weights.items())
    assert (model.config.norm_eps, model.config.pad_id) == (1e-12, 0)
    assert model.native.settings["config"]["layer_norm_eps"] == 1e-12  # what transformers is to run with
    with pytest.raises(PortError, match=r"pad_token_id must be a whole number, got nothing. Say pad_id in the settings"):
        read_source(old, "bert", {"norm_eps": 1e-12})


@pytest.mark.long
def test_the_proof_runs_transformers_with_what_was_said(old, tmp_path):
    report = tmb.port(old, tmp_path / "out", to="canonical", from_="bert", config={"norm_eps": 1e-12, "pad_id": 0})
    assert report.proof.source_ran.startswith("transformers ")
    assert report.origins["given"] == {"norm_eps": 1e-12, "pad_id": 0}
    assert {"norm_eps"} <= set(report.proof.on_trust)


def test_tensors_of_another_model_are_not_berts(old):
    tensors = load_file(old / "model.safetensors")
    save_file({f"roberta.{name}": array for name, array in tensors.items()}, old / "model.safetensors")
    refused("must hold embeddings.word_embeddings.weight", read_source, old, "bert", {"norm_eps": 1e-12, "pad_id": 0})


def test_an_encoder_has_no_words_to_tie(old):
    spoil(old / "config.json", model_type="bert", layer_norm_eps=1e-12, pad_token_id=0, tie_word_embeddings=True)
    assert not any("not known here" in note for note in read_source(old, None, {}).model.notes)


@pytest.fixture
def padded(tmp_path):
    """Tokens for all but the last three rows of the embedding, the last of which the output prefers to all."""
    model = small_marian()
    rows = model.config.target_vocab_size
    names = ["</s>", "<unk>", *(f"w{i}" for i in range(rows - 6)), "<pad>"]
    folder = tmp_path / "padded"
    folder.mkdir()
    marian.write(model, folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["final_logits_bias"] = tensors["final_logits_bias"].copy()
    tensors["final_logits_bias"][0, -1] = 100.0
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    return folder, rows


def test_rows_without_a_token_get_names_that_nothing_gives_and_are_never_produced(padded, tmp_path):
    folder, rows = padded
    model = read_source(folder, None, {}).model
    assert isinstance(model.target_vocabulary, Vocabulary) and len(model.target_vocabulary) == rows
    assert set(range(rows - 3, rows)) <= set(model.config.suppress_ids)
    assert any("stand for no token" in note for note in model.notes)
    assert model.target_vocabulary.encode("<no token 99> w1")[-1] == model.target_vocabulary.ids(["w1"])[0]
    (tmp_path / "again").mkdir()
    marian.write(model, tmp_path / "again")
    again = read_source(tmp_path / "again", "marian", {}).model
    assert again.config == model.config and again.target_vocabulary == model.target_vocabulary


@pytest.mark.long
def test_text_goes_through_here_and_through_ctranslate2(padded, tmp_path):
    folder, _ = padded
    assert tmb.port(folder, tmp_path / "ck", to="canonical").holds  # transformers is held to the same rule
    texts = list(tmb.Translator.load(tmp_path / "ck").translate(["w1 w2 w3"]))
    assert "no token" not in str(texts)
    assert tmb.port(folder, tmp_path / "ct2", to="ctranslate2").holds


def test_positions_that_a_folder_numbers_otherwise_are_refused(old):
    tensors = load_file(old / "model.safetensors")
    said = {"norm_eps": 1e-12, "pad_id": 0}
    for start, fits in ((0, True), (2, False)):
        numbers = np.arange(start, start + tensors["embeddings.position_embeddings.weight"].shape[0])[None]
        save_file({**tensors, "embeddings.position_ids": numbers}, old / "model.safetensors")
        if fits:
            assert read_source(old, "bert", said).model.weights
            continue
        refused(r"embeddings.position_ids must count from 0, got \[2, 3, 4", read_source, old, "bert", said)


def test_an_output_that_is_said_to_be_apart_and_is_absent_is_no_tie(padded):
    folder, _ = padded
    assert json.loads((folder / "config.json").read_text())["tie_word_embeddings"] is True
    spoil(folder / "config.json", tie_word_embeddings=False)
    refused("tie_word_embeddings is false, but the file holds no lm_head.weight", read_source, folder, None, {})


def test_tables_that_are_said_to_be_apart_and_are_absent_are_not_one(tmp_path):
    """transformers would make both up."""
    marian.write(small_marian(), tmp_path)
    spoil(tmp_path / "config.json", share_encoder_decoder_embeddings=False)
    words = "share_encoder_decoder_embeddings is false, but the file holds no encoder.embed_tokens.weight and decoder"
    refused(words, read_source, tmp_path, None, {})


def test_a_tokenizer_alone_gets_the_names_too(tmp_path):
    made = train_subwords(["a few words"], 300)
    rows = len(made) + 3
    config = small_marian().config.replace(source_vocab_size=rows, target_vocab_size=rows)
    weights = {name: array.astype(np.float32) for name, array in random_weights(parameter_shapes(config)).items()}
    marian.write(PortedModel(config=config, weights=weights), tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(made.content)
    model = read_source(tmp_path, None, {}).model
    words = model.target_vocabulary
    assert len(words) == rows and set(range(rows - 3, rows)) <= set(model.config.suppress_ids)
    assert words.decode(words.encode(f"a <no token {rows - 1}>")) == f"a <no token {rows - 1}>"
    assert max(words.encode(f"a <no token {rows - 1}>")) < rows - 3
