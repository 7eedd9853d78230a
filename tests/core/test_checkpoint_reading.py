"""A checkpoint is read strictly: whatever is wrong with it becomes one CheckpointError that names the file."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from transformer_mb.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from transformer_mb.checkpoint.files import CARRIED, FILES, GENERATION, HEADS, KEPT, LAST, TOKENIZERS
from transformer_mb.config import TransformerConfig
from transformer_mb.data.vocabulary import Vocabulary
from transformer_mb.errors import CheckpointError
from transformer_mb.initialization import initial_weights

CONFIG = TransformerConfig(
    source_vocab_size=6, target_vocab_size=7, num_hiddens=4, ffn_num_hiddens=6, encoder_num_heads=2, decoder_num_heads=2,
    encoder_num_layers=1, decoder_num_layers=1, suppress_ids=(1,),
)  # fmt: skip
SOURCE = Vocabulary.from_tokens([["go", "."]])
TARGET = Vocabulary.from_tokens([["va", "été", "\u2028"]])


def checkpoint(seed: int = 0, trained: bool = True) -> Checkpoint:
    weights = initial_weights(CONFIG, seed)
    moments = {f"{slot}.{name}": np.full_like(value, 0.5) for slot in ("m", "v") for name, value in weights.items()}
    return Checkpoint(
        config=CONFIG,
        weights=weights,
        source_vocabulary=SOURCE,
        target_vocabulary=TARGET,
        optimizer={"step": np.asarray(12), **moments} if trained else None,
        trainer={"epoch": 3, "history": [0.1, 1e-300]} if trained else None,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "model"
    write_checkpoint(folder, checkpoint())
    return folder


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "model"))


def refused(folder: Path, *words: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(folder)
    message = str(caught.value)
    assert message.count("\n") == 0 and str(folder) in message
    for word in words:
        assert word in message, message


def change_config(folder: Path, **changes) -> None:
    path = folder / "config.json"
    described = json.loads(path.read_text())
    for key, value in changes.items():
        if key in described:
            described[key] = value
        else:
            described["config"][key] = value
    path.write_text(json.dumps(described))


def test_what_is_written_is_read_bit_for_bit(whole):
    expected, found = checkpoint(), read_checkpoint(whole)
    assert found.config == expected.config
    assert (found.source_vocabulary, found.target_vocabulary) == (SOURCE, TARGET)
    assert found.trainer == expected.trainer
    for ours, theirs in ((expected.weights, found.weights), (expected.optimizer, found.optimizer)):
        assert set(theirs) == set(ours)
        for name, value in ours.items():
            assert theirs[name].dtype == value.dtype
            np.testing.assert_array_equal(theirs[name], value)


def test_the_files_are_those_that_others_read(whole):
    """config.json is JSON, and safetensors' own reader finds the tensors by name."""
    described = json.loads((whole / "config.json").read_text(encoding="utf-8"))
    assert described["format"] == "transformer_mb" and described["format_version"] == 1
    assert TransformerConfig.from_dict(described["config"]) == CONFIG
    table = load_file(whole / "model.safetensors")["encoder.embedding.weight"]
    np.testing.assert_array_equal(table, initial_weights(CONFIG)["encoder.embedding.weight"])
    assert Vocabulary.from_json((whole / "target_vocabulary.json").read_text(encoding="utf-8")) == TARGET
    assert load_file(whole / "optimizer.safetensors")["step"] == 12


def test_a_transposed_view_is_stored_as_it_reads(tmp_path):
    """safetensors writes memory as it lies; a view in another order must be copied first."""
    plain = checkpoint(trained=False)
    views = {name: value.T.copy().T for name, value in plain.weights.items()}
    write_checkpoint(tmp_path / "model", Checkpoint(**{**vars(plain), "weights": views}))
    for name, value in read_checkpoint(tmp_path / "model").weights.items():
        np.testing.assert_array_equal(value, plain.weights[name])


def test_a_model_alone_has_no_training_state(tmp_path):
    write_checkpoint(tmp_path / "model", checkpoint(trained=False))
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "config.json", "model.safetensors", "source_vocabulary.json", "target_vocabulary.json",
    ]  # fmt: skip
    found = read_checkpoint(tmp_path / "model")
    assert found.optimizer is None and found.trainer is None


def test_the_training_state_can_stay_unread(folder):
    (folder / "optimizer.safetensors").write_bytes(b"damaged")
    assert read_checkpoint(folder, optimizer=False).optimizer is None
    refused(folder, "optimizer.safetensors", "damaged")


def test_no_folder_and_a_file_in_its_place(tmp_path):
    refused(tmp_path / "none", "got nothing")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file", "got a file", f"`transformer-mb port {tmp_path / 'file'} DIR --to canonical`")


@pytest.mark.parametrize("name", sorted({*FILES} - {LAST, KEPT, *TOKENIZERS, GENERATION, HEADS, CARRIED}))
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    refused(folder, name)


@pytest.mark.parametrize("name", ["config.json", "source_vocabulary.json", "trainer.json"])
@pytest.mark.parametrize("content", [b'{"a": ', b"", b"\xff\xfe", b"[]", b"[" * 100000])
def test_json_that_is_broken(folder, name, content):
    (folder / name).write_bytes(content)
    refused(folder, name)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
@pytest.mark.parametrize("size", [0, 4, 8, 100, -1])
def test_a_truncated_tensor_file(folder, name, size):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:size])
    refused(folder, name, "damaged")


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**40, 2**64 - 1])
def test_a_header_length_that_lies(folder, length):
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
    refused(folder, "model.safetensors", "damaged")


def test_tensors_that_do_not_fit_are_all_listed(folder):
    tensors = load_file(folder / "model.safetensors")
    del tensors["decoder.dense.bias"], tensors["encoder.embedding.weight"]
    tensors["extra.weight"] = np.zeros((2, 3))
    tensors["decoder.dense.weight"] = np.zeros((4, 7))
    save_file(tensors, folder / "model.safetensors")
    refused(
        folder,
        "missing encoder.embedding.weight [6, 4]",
        "missing decoder.dense.bias [7]",
        "unexpected extra.weight [2, 3]",
        "decoder.dense.weight must have shape [7, 4], got [4, 7]",
    )


@pytest.mark.parametrize("trained", [False, True])
def test_one_bit_of_a_weight_is_noticed(tmp_path, trained):
    """Such as a disk or a copy loses: every number is finite, and safetensors has no checksum."""
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(trained=trained))
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-2] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    refused(folder, "model.safetensors is damaged", "the numbers that were saved", "Restore the file")


def test_optimizer_tensors_that_do_not_fit_are_all_listed(folder):
    tensors = load_file(folder / "optimizer.safetensors")
    del tensors["step"], tensors["m.decoder.dense.bias"]
    tensors["momentum.decoder.dense.bias"] = np.zeros(7)
    save_file(tensors, folder / "optimizer.safetensors")
    refused(folder, "missing step", "missing m.decoder.dense.bias [7]", "unexpected momentum.decoder.dense.bias [7]")


def test_wrong_dtypes_are_all_listed(folder):
    tensors = load_file(folder / "model.safetensors")
    for name in ("decoder.dense.bias", "decoder.dense.weight"):
        tensors[name] = tensors[name].astype(np.int64)
    save_file(tensors, folder / "model.safetensors")
    refused(folder, "decoder.dense.bias must be F64 or F32 or F16, got I64", "decoder.dense.weight must be")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, ["transformer_mb", "'other'"]),
        ({"format_version": 2}, ["format_version 2", "up to 1", "newer"]),
        ({"format_version": "1"}, ["format_version", "'1'"]),
        ({"format_version": True}, ["format_version", "True"]),
        ({"config": {"color": 1}}, ["color"]),
        ({"config": []}, ["list"]),
        ({"encoder_num_heads": 3}, ["4 is not divisible by 3"]),
        ({"suppress_ids": 5}, ["config.json"]),
        ({"source_vocab_size": 8}, ["encoder.embedding.weight must have shape [8, 4], got [6, 4]"]),
    ],
)
def test_a_configuration_that_cannot_be(folder, changes, words):
    change_config(folder, **changes)
    refused(folder, *words)


def test_more_layers_than_tensors_are_refused_before_anything_is_made_of_them(folder):
    change_config(folder, decoder_num_layers=2**31)
    refused(folder, "decoder_num_layers must be at most the", "tensors, got 2147483648")


def test_a_vocabulary_of_another_size(folder):
    (folder / "source_vocabulary.json").write_text(Vocabulary.from_tokens([["go", ".", "on"]]).to_json())
    refused(folder, "source_vocabulary.json must hold source_vocab_size = 6 tokens, got 7")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damage_ends_in_another_error(whole, tmp_path_factory, data):
    """Whatever bytes are overwritten or cut off, reading gives a checkpoint or a CheckpointError, nothing else."""
    name = data.draw(st.sampled_from(sorted(path.name for path in whole.iterdir())))
    content = bytearray((whole / name).read_bytes())
    position = data.draw(st.integers(0, min(len(content), 3000) - 1))  # headers come first
    patch = data.draw(st.binary(max_size=12))
    content[position : position + data.draw(st.integers(0, 12))] = patch
    folder = tmp_path_factory.mktemp("damaged")
    for path in whole.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / name).unlink()
    (folder / name).write_bytes(content)
    try:
        read_checkpoint(folder)
    except CheckpointError as error:
        assert str(folder) in str(error) and "\n" not in str(error)
