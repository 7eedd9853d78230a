"""Safetensors files as the library of that name reads and writes them, and those that lie."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from transformer_mb.errors import CheckpointError, DtypeError
from transformer_mb.files.tensors import read_tensor_file, write_tensors

ARRAYS = {
    "f4": np.arange(6, dtype=np.float32).reshape(2, 3),
    "f8": np.arange(3, dtype=np.float64),
    "f2": np.array([1.5, -2.5], np.float16),
    "i8": np.array([[1, -2]], np.int64),
    "i4": np.array([7], np.int32),
    "i2": np.array([-7], np.int16),
    "i1": np.array([-1, 2, 3], np.int8),
    "u1": np.array([255], np.uint8),
    "bool": np.array([True, False]),
    "scalar": np.array(3.5, np.float32),
    "empty": np.zeros((0, 4), np.float32),
    "täst\n\u2028": np.ones(2),
}


def same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("metadata", [None, {"format": "pt", "ä": "\u2028"}])
def test_the_library_reads_what_we_write_and_we_read_what_it_writes(tmp_path, metadata):
    write_tensors(tmp_path / "ours", ARRAYS, metadata)
    same(load_file(tmp_path / "ours"), ARRAYS)
    with safe_open(tmp_path / "ours", framework="np") as file:
        assert file.metadata() == metadata
    save_file(ARRAYS, tmp_path / "theirs", metadata)
    found = read_tensor_file(tmp_path / "theirs")
    same(found.arrays, ARRAYS)
    assert found.metadata == (metadata or {})


def test_other_orders_of_memory_and_of_bytes(tmp_path):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    odd = {"transposed": array.T, "strided": array[:, ::2], "big": array.astype(">f4")}
    write_tensors(tmp_path / "x", odd)
    found = load_file(tmp_path / "x")
    for name, value in odd.items():
        np.testing.assert_array_equal(found[name], value)


def test_what_is_read_may_be_changed_and_lies_at_its_multiples(tmp_path):
    header = json.dumps({"w": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}).encode()
    for spaces in range(8):
        content = header + b" " * spaces
        (tmp_path / "x").write_bytes(struct.pack("<Q", len(content)) + content + np.array([1.0, 2.0]).tobytes())
        array = read_tensor_file(tmp_path / "x").arrays["w"]
        assert array.flags.aligned and array.flags.writeable and array.tolist() == [1.0, 2.0]


def test_what_has_no_place_in_it(tmp_path):
    with pytest.raises(DtypeError, match="Tensor w must be of float64, float32, .*got complex128"):
        write_tensors(tmp_path / "x", {"w": np.zeros(2, complex)})


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
LIES = {
    "a hole": ({"w": {**ENTRY, "data_offsets": [4, 12]}}, 12),
    "an overlap": ({"v": ENTRY, "w": {**ENTRY, "data_offsets": [4, 12]}}, 12),
    "numbers left over": ({"w": ENTRY}, 12),
    "numbers missing": ({"w": ENTRY}, 4),
    "another size": ({"w": {**ENTRY, "shape": [3]}}, 8),
    "a negative size": ({"w": {**ENTRY, "shape": [-1, -2]}}, 8),
    "a size that is no number": ({"w": {**ENTRY, "shape": ["2"]}}, 8),
    "no shape": ({"w": {"dtype": "F32", "data_offsets": [0, 8]}}, 8),
    "three offsets": ({"w": {**ENTRY, "data_offsets": [0, 4, 8]}}, 8),
    "offsets the wrong way round": ({"w": {**ENTRY, "data_offsets": [8, 0]}}, 8),
    "an unknown dtype": ({"w": {**ENTRY, "dtype": "F31"}}, 8),
    "a dtype that is none": ({"w": {**ENTRY, "dtype": [1]}}, 8),
    "a tensor that is a text": ({"w": "x"}, 8),
    "a list": ([ENTRY], 8),
    "metadata of numbers": ({"__metadata__": {"a": 1}, "w": ENTRY}, 8),
}


@pytest.mark.parametrize("name", LIES)
def test_a_header_that_lies_is_refused_as_the_library_does(tmp_path, name):
    header, count = LIES[name]
    content = json.dumps(header).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(content)) + content + bytes(count))
    with pytest.raises(CheckpointError, match="must be a safetensors file, but it is damaged: ."):
        read_tensor_file(tmp_path / "x")
    with pytest.raises(SafetensorError):
        load_file(tmp_path / "x")
