"""What is no model, or no whole one, is called by what it is, with the way to one that can be read."""

from __future__ import annotations

import json
import os
import struct

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from porting.hugging_face import small_bert
from porting.small_model import CONFIG, built, refused
from transformer_mb.errors import PortError
from transformer_mb.porting.families import bert
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.formats import mxnet, npz, safetensors, torch
from transformer_mb.porting.model import NativeFile


@pytest.fixture
def weights():
    return built(CONFIG, seed=1).weights


def made(folder, *entries):
    for entry in entries:
        place = folder / entry
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if entry.endswith("/") else place.touch()
    return folder


FOLDERS = [
    (["_CHECKPOINT_METADATA", "manifest.ocdbt"], "it is orbax's, of which flax.serialization.to_bytes"),
    (["3/_CHECKPOINT_METADATA", "7/_CHECKPOINT_METADATA"], "it is orbax's, of which flax.serialization.to_bytes"),
    (
        ["modules.json", "0_Transformer/", "1_Pooling/"],
        "of sentence-transformers .* in a folder of their own: name 0_Transformer",
    ),
    (["modules.json"], "of sentence-transformers .* name its first module"),
    (["saved_model.pb", "variables/"], "a SavedModel of TensorFlow, .* name variables/variables.index in it"),
    ([".metadata", "__0_0.distcp"], "a checkpoint of torch.distributed, .* makes a .pt"),
    (["model.pt", "notes.txt"], "it holds files that can be named themselves, such as model.pt"),
    (["only/"], "but it is none[.]$"),
    ([], "but it is none: it is empty"),
]


@pytest.mark.parametrize(("entries", "words"), FOLDERS)
def test_a_folder_is_called_by_what_it_is(entries, words, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(rf"folder must be a canonical checkpoint or .*{words}", read_source, made(tmp_path / "folder", *entries), None, {})


def test_what_is_no_file_is_called_by_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "stale").symlink_to("gone")
    words = {
        "pipe": "must be a file, got a named pipe",
        "loop": "There is no .* it is a link that leads back to itself",
        "stale": "There is no .* it is a link to gone, which is not there",
        "gone": "There is no file or folder .*gone[.]$",
    }
    for name, said in words.items():
        refused(said, read_source, tmp_path / name, None, {})


def test_scopes_of_gluon_lead_to_save_parameters(tmp_path, weights):
    """What ``mx.npx.save`` makes of ``collect_params()``, and an older symbol's file with ``arg:`` before each name."""
    names = ["embedding0_weight", "dense0_weight", "dense0_bias", "model0_layernorm0_gamma"]
    arrays = dict(zip(names, weights.values(), strict=False))
    for start in ("", "arg:"):
        file = NativeFile(format="mxnet", tensors={f"{start}{name}": array for name, array in arrays.items()})
        mxnet.write(tmp_path / "m.params", file)
        with pytest.raises(PortError, match="names of gluon's scopes: net.save_parameters writes those that can be read"):
            read_source(tmp_path / "m.params", None, {})


def test_a_list_of_mxnet_leads_to_a_dictionary(tmp_path):
    mxnet.write(tmp_path / "m.params", NativeFile(format="mxnet", tensors={"a": np.zeros(2, np.float32)}))
    named = (tmp_path / "m.params").read_bytes()
    (tmp_path / "m.params").write_bytes(named[: -8 - 8 - 1] + struct.pack("<Q", 0))
    with pytest.raises(PortError, match="its 1 arrays once, got 0 names: what was saved is a list, and a dictionary by name"):
        read_source(tmp_path / "m.params", None, {})


PARTS = {
    "an encoder alone: save the whole model, or this part as": {"encoder.": "net.enc."},
    "a decoder alone: save the whole model": {"decoder.": "net.dec."},
    "blocks of both sides, which must be called encoder and decoder": {"encoder.": "net.enc.", "decoder.": "net.dec."},
}


@pytest.mark.parametrize("words", PARTS)
def test_blocks_under_another_name_are_known_for_what_they_are(words, tmp_path, weights):
    renamed = {
        new + name.removeprefix(old): array
        for name, array in weights.items()
        for old, new in PARTS[words].items()
        if name.startswith(old)
    }
    np.savez(tmp_path / "m.npz", **renamed)
    refused(f"These are names of {words}", read_source, tmp_path / "m.npz", None, {"num_heads": 4})


def test_layers_of_keras_own_are_no_numbers(tmp_path):
    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        for name in ("layers/dense/vars/0", "layers/multi_head_attention/query_dense/vars/0"):
            file.create_dataset(name, data=np.ones((2, 2), np.float32))
    with pytest.raises(PortError, match="names of layers of Keras' own") as caught:
        read_source(tmp_path / "m.weights.h5", None, {})
    assert "numbers and no names" not in str(caught.value)


def test_the_weights_of_torch_in_a_folder_of_hugging_face_are_read_by_its_folder(tmp_path):
    """As folders of before safetensors have them; the file alone says less, and names the folder."""
    folder = tmp_path / "bert"
    folder.mkdir()
    bert.write(small_bert(), folder)
    expected = read_source(folder, None, {}).model
    torch.write(folder / "pytorch_model.bin", NativeFile(format="torch", tensors=load_file(folder / "model.safetensors")))
    (folder / "model.safetensors").unlink()
    model = read_source(folder, None, {}).model
    assert model.config == expected.config and set(model.weights) == set(expected.weights)
    assert all(np.array_equal(model.weights[name], array) for name, array in expected.weights.items())
    with pytest.raises(PortError, match=f"is a part of a HF BERT/MiniLM folder: name the folder {folder}, which says more"):
        read_source(folder / "pytorch_model.bin", None, {})
    (folder / "pytorch_model.bin").unlink()
    refused("model.safetensors", read_source, folder, None, {})
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"


HALVES = {
    "The decoder must have blocks, but the file has no decoder.blks.block0, though it has decoder.dense.weight": (
        lambda name: name.startswith("encoder.") or name == "decoder.dense.weight"
    ),
    "The encoder must have blocks, but the file has no encoder.blks.block0, though it has encoder.embedding.weight": (
        lambda name: name.startswith("decoder.") or name == "encoder.embedding.weight"
    ),
    "The encoder must have an embedding, but the file has no encoder.embedding.weight": (
        lambda name: name.startswith("encoder.blks.")
    ),
}


@pytest.mark.parametrize("container", [npz, mxnet, safetensors])
@pytest.mark.parametrize("words", HALVES)
def test_half_a_model_hears_which_tensor_was_looked_for(container, words, tmp_path, weights):
    kept = {name: array for name, array in weights.items() if HALVES[words](name)}
    name = container.__name__.rpartition(".")[2]
    container.write(tmp_path / "m", NativeFile(format=name, tensors=kept))
    refused(words, read_source, tmp_path / "m", name, {"num_heads": 4})
