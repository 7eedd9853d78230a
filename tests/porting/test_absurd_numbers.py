"""Numbers, names and settings that no model has: each is an ordinary error that says what must be, whoever said them."""

import json
import os
import struct

import numpy as np
import pytest

from porting.mutations import alarm
from porting.small_model import refused
from transformer_mb.checkpoint import Checkpoint, read_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import CheckpointError, ConfigError, PortError
from transformer_mb.porting.families import d2l
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.inspection import inspect
from transformer_mb.porting.model import NativeFile
from transformer_mb.porting.settings import recorded_fields

SIZES = {"source_vocab_size": 9, "target_vocab_size": 9}
ABSURD = {
    "norm_eps": (10**30, "norm_eps must be positive and below 1"),
    "position_offset": (10**30, "position_offset must be a whole number below"),
    "max_len": (10**8, "max_len [+] position_offset must be at most 65536"),
    "source_vocab_size": (10**30, "source_vocab_size must be a whole number below"),
    "encoder_num_layers": (-(10**30), "encoder_num_layers must be a whole number below"),
    "pad_id": (10**4000, "pad_id must be a whole number below"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_an_absurd_number_in_a_configuration_is_refused(name):
    value, words = ABSURD[name]
    with pytest.raises(ConfigError, match=words) as caught:
        TransformerConfig(**{**SIZES, name: value})
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, 1.0, -1e-5])
def test_an_epsilon_outside_of_0_to_1_is_refused(value):
    with pytest.raises(ConfigError, match="norm_eps must be"):
        TransformerConfig(**SIZES, norm_eps=value)


def said(folder, **changes):
    path = folder / "config.json"
    described = json.loads(path.read_text())
    path.write_text(json.dumps({**described, "config": {**described["config"], **changes}}))


@pytest.mark.parametrize(
    "lie", [{"position_offset": 10**8}, {"max_len": 10**8}, {"max_len": 65_000, "position_offset": 1_000}, {"norm_eps": 10**30}]
)
def test_sizes_that_no_tensor_bounds_are_refused_by_every_reader(copied, lie):
    """Translating, evaluating and loading read a checkpoint this way; porting and inspecting the other."""
    said(copied, **lie)
    words = "must be at most 65536|norm_eps must be positive and below 1"
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(copied)
    refused(words, read_source, copied, None, {})


def test_absurd_sizes_in_settings_are_refused(copied, good):
    for path in (copied, good / "npz"):
        with pytest.raises(PortError, match="contradict what the source itself shows or records: position_offset is 0"):
            read_source(path, None, {"position_offset": 10**8})


def test_more_layers_than_tensors_are_refused():
    config = TransformerConfig(**SIZES, encoder_num_layers=1 << 31)
    with pytest.raises(CheckpointError, match="encoder_num_layers must be at most the 1 tensors"):
        Checkpoint(config=config, weights={"w": np.zeros(1)}).check()


def test_missing_weights_are_named(copied):
    (copied / "model.safetensors").unlink()
    for read in (read_checkpoint, lambda folder: read_source(folder, None, {})):
        with pytest.raises((CheckpointError, PortError), match=r"model\.safetensors must be a safetensors file, but it is not"):
            read(copied)


@pytest.mark.parametrize("name", ["npz", "safetensors", "mxnet", "paddle", "flax", "keras"])
def test_a_name_of_five_thousand_digits_is_refused(tmp_path, name):
    tensors = {f"encoder.blks.block{'9' * 5000}.attention.W_q.weight": np.zeros((2, 2), np.float32)}
    FORMATS[name].write(tmp_path / "x", NativeFile(format=name, tensors=tensors))
    refused("a name must have at most 500 characters", read_source, tmp_path / "x", None, {"num_heads": 2})


def test_a_shape_that_no_array_has_is_damage(tmp_path):
    header = json.dumps({"w": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]}}).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header)
    refused("must be a safetensors file, but it is damaged: array is too big", read_native, tmp_path / "x")


@pytest.mark.parametrize("names", ["{i}{j}", "{i", "{i}}", "block", "{i.real}", "{i:>9999}", 5])
def test_names_of_blocks_that_are_no_pattern_are_refused(good, names):
    model = read_source(good / "npz", None, {"num_heads": 2}).model
    with pytest.raises(PortError, match="block_names must be d2l, or a text with {i} and no other braces in it"):
        d2l.write(model, "npz", {"block_names": names})
    assert "encoder.blks.layer1x.attention.W_q.weight" in d2l.write(model, "npz", {"block_names": "layer{i}x"}).tensors


@pytest.mark.parametrize("name", ["safetensors", "keras"])
@pytest.mark.parametrize("field", ["source_vocabulary", "target_vocabulary", "ignore", "num_heads", "linear_layout"])
def test_a_recorded_setting_that_names_another_file_is_refused(good, tmp_path, name, field):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    native = read_native(good / name)
    path = tmp_path / f"model{FORMATS[name].suffix}"
    settings = {**native.settings, field: str(pipe)}
    FORMATS[name].write(path, NativeFile(format=name, tensors=native.tensors, settings=settings))
    for read in (inspect, lambda path: read_source(path, None, {})):
        with alarm(20), pytest.raises(PortError, match=f"must hold fields of a TransformerConfig alone, but it has '{field}'"):
            read(path)


@pytest.mark.parametrize("name", ["safetensors", "keras"])
def test_a_local_list_is_not_copied_into_the_port(good, tmp_path, name):
    native = read_native(good / name)
    secret = tmp_path / "secret.json"
    size = native.settings["source_vocab_size"]
    secret.write_text(json.dumps(["<unk>", "<pad>", "<bos>", "<eos>", *(f"secret{i}" for i in range(size - 4))]))
    settings = {**native.settings, "source_vocabulary": str(secret), "target_vocabulary": str(secret)}
    path = tmp_path / f"model{FORMATS[name].suffix}"
    FORMATS[name].write(path, NativeFile(format=name, tensors=native.tensors, settings=settings))
    refused("source_vocabulary", read_source, path, None, {})


def test_the_configuration_still_travels(good):
    for name in ("safetensors", "keras"):
        assert read_source(good / name, None, {}).model.config.encoder_num_heads == 2


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, '"words"', "null"])
def test_what_is_no_object(text):
    refused("must be a JSON object, got ", recorded_fields, text, "x")
