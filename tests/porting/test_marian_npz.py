"""Marian's own .npz: names and layouts as its source (models/transformer.h) makes them, written out here by hand."""

from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from porting.family_models import model_of
from porting.small_model import on_numpy, refused
from transformer_mb.porting.families import marian_npz
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.model import NativeFile

YAML = """dec-depth: 2
dim-emb: 8
dim-vocabs: [10, 10]
enc-depth: 2
tied-embeddings-all: true
transformer-dim-ffn: 12
transformer-ffn-activation: swish
transformer-heads: 2
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-preprocess: ""
type: transformer
version: v1.9.0
"""
OF_HEADS = {"Wq": "W_q", "Wk": "W_k", "Wv": "W_v", "Wo": "W_o"}
# By side: Marian's layer, and ours of the attention and of the normalization after it.
ATTENTIONS = {
    "encoder": [("self", "attention", "addnorm1")],
    "decoder": [("self", "attention1", "addnorm1"), ("context", "attention2", "addnorm2")],
}
LAST_NORM = {"encoder": "addnorm2", "decoder": "addnorm3"}


def marian_tensors(weights, layers=2):
    """Our weights as Marian's: the row of the start is not there."""
    found = {
        "Wemb": weights["encoder.embedding.weight"][:-1],
        "decoder_ff_logit_out_b": weights["decoder.dense.bias"][None, :-1],
    }
    for side, attentions in ATTENTIONS.items():
        for i in range(layers):
            ours, theirs = f"{side}.blks.block{i}", f"{side}_l{i + 1}"
            for layer, attention, norm in attentions:
                for name, projection in OF_HEADS.items():
                    found[f"{theirs}_{layer}_{name}"] = weights[f"{ours}.{attention}.{projection}.weight"].T
                    found[f"{theirs}_{layer}_b{name[1]}"] = weights[f"{ours}.{attention}.{projection}.bias"][None]
                found[f"{theirs}_{layer}_Wo_ln_scale"] = weights[f"{ours}.{norm}.ln.weight"][None]
                found[f"{theirs}_{layer}_Wo_ln_bias"] = weights[f"{ours}.{norm}.ln.bias"][None]
            for number in (1, 2):
                found[f"{theirs}_ffn_W{number}"] = weights[f"{ours}.ffn.dense{number}.weight"].T
                found[f"{theirs}_ffn_b{number}"] = weights[f"{ours}.ffn.dense{number}.bias"][None]
            found[f"{theirs}_ffn_ffn_ln_scale"] = weights[f"{ours}.{LAST_NORM[side]}.ln.weight"][None]
            found[f"{theirs}_ffn_ffn_ln_bias"] = weights[f"{ours}.{LAST_NORM[side]}.ln.bias"][None]
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


@pytest.fixture
def weights():
    found = dict(model_of("marian").weights)
    for name in ("encoder.embedding.weight", "decoder.dense.bias"):
        found[name] = np.concatenate([found[name][:-1], np.zeros_like(found[name][:1])])
    return found


def options(**changes):
    lines = dict(line.split(": ", 1) for line in YAML.splitlines())
    text = "".join(f"{name}: {value}\n" for name, value in {**lines, **changes}.items() if value is not None)
    return np.frombuffer(text.encode() + b"\0", np.int8)


def native(weights, **changes):
    return NativeFile(format="npz", tensors={**marian_tensors(weights), "special:model.yml": options(**changes)})


@pytest.fixture
def file(weights, tmp_path):
    np.savez(tmp_path / "model.npz", **native(weights).tensors)
    return tmp_path / "model.npz"


def test_a_model_of_marians_is_read_as_marian_computes_it(file, weights):
    source = read_source(file, None, {})
    config = source.model.config
    assert source.family.name == "marian_npz"
    assert (config.sinusoid_layout, config.norm_eps, config.position_offset) == ("fairseq", 1e-6, 0)
    assert (config.start_id, config.suppress_ids, config.eos_id, config.activation) == (10, (10,), 0, "silu")
    assert set(source.model.weights) == set(weights)
    assert all(source.model.weights[name].tobytes() == array.tobytes() for name, array in weights.items())


def test_what_the_converted_model_computes_is_a_setting(file):
    """MarianMT of ``transformers`` has other wavelengths and another epsilon than the file that it was converted from."""
    batch = {
        "source": np.array([[3, 4, 0], [5, 0, 10]]),
        "source_valid_lens": np.array([3, 2]),
        "target": np.array([[10, 4], [10, 6]]),
    }
    halves = {"sinusoid_layout": "halves", "norm_eps": 1e-5}
    own, converted = (read_source(file, None, one).model for one in ({}, halves))
    assert converted.config.sinusoid_layout == "halves" and converted.config.norm_eps == 1e-5
    assert np.abs(on_numpy(own, batch)["logits"] - on_numpy(converted, batch)["logits"]).max() > 1e-3


def test_it_goes_back_bit_for_bit(file, tmp_path):
    tmb.port(file, tmp_path / "canonical", to="canonical")
    report = tmb.port(tmp_path / "canonical", tmp_path / "back.npz", to="marian_npz")
    assert report.holds
    before, after = np.load(file), np.load(tmp_path / "back.npz")
    assert set(before) == set(after)
    assert all(before[name].tobytes() == after[name].tobytes() and before[name].shape == after[name].shape for name in before)
    assert not any(array.flags.f_contiguous and not array.flags.c_contiguous for array in map(after.__getitem__, after))


def test_options_are_made_where_none_are_carried(file, tmp_path):
    tmb.save(tmb.get_backend("numpy").from_weights(*_parts(file)), tmp_path / "plain")
    tmb.port(tmp_path / "plain", tmp_path / "back.npz", to="marian_npz")
    assert read_source(tmp_path / "back.npz", None, {}).model.config == read_source(file, None, {}).model.config


def _parts(file):
    model = read_source(file, None, {}).model
    return model.config, model.weights


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"type": "amun"}, "type must be 'transformer' for this family, got 'amun'"),
        ({"transformer-preprocess": "n"}, "transformer-preprocess must be ''"),
        ({"transformer-postprocess": "da"}, "transformer-postprocess must be 'dan'"),
        ({"transformer-decoder-autoreg": "rnn"}, "transformer-decoder-autoreg must be 'self-attention'"),
        ({"transformer-ffn-activation": "gelu"}, "must be one of relu, swish, got 'gelu'"),
        ({"transformer-tied-layers": "[1, 1]"}, r"transformer-tied-layers must be \[\]"),
        ({"dim-vocabs": "[10]"}, "dim-vocabs must be two whole numbers"),
        ({"dim-emb": None}, "dim-emb must be a whole number, got None"),
        ({"dim-vocabs": "[12, 12]"}, r"must have shape \[13, 8\], got \[11, 8\]"),
        ({"enc-depth": "3"}, "missing encoder.blks.block2"),
        ({"dec-depth": "1"}, "unexpected decoder_l2_"),
        ({"tied-embeddings-all": "false"}, "missing encoder.embedding.weight"),
        ({"type": "[transformer"}, "must be YAML, but it is not"),
    ],
)
def test_options_of_another_model_are_refused(changes, words, weights):
    refused(words, marian_npz.read, native(weights, **changes), {})


def test_a_row_of_the_start_that_is_not_zero_cannot_be_written(file):
    model = read_source(file, None, {}).model
    weights = {**model.weights, "encoder.embedding.weight": np.ones_like(model.weights["encoder.embedding.weight"])}
    refused("must be zero, where decoding starts", marian_npz.write, replace(model, weights=weights), "npz", {})
