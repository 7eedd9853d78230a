"""Containers, recognized by their content alone, and what they hold: older versions, other byte orders, narrow numbers."""

import io
import json
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save

from porting.conftest import CONTAINERS
from porting.small_model import refused
from transformer_mb.porting.files.sources import read_native, read_tensors, recognized_format
from transformer_mb.porting.formats import FORMATS, flax, mxnet, npz, paddle, safetensors
from transformer_mb.porting.model import NativeFile

ARRAYS = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "c": np.arange(4, dtype=np.float64),
    "b": np.array([1.5, -2.5], np.float16),
    "d": np.array([[1, 2]], np.int64),
    "e": np.array([True, False]),
    "scalar": np.array(3.5, np.float32),
}


@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.write])
def test_every_dtype_comes_back_and_is_recognized(tmp_path, name):
    path = tmp_path / "file"
    arrays = {key.replace(".", "/") if name in ("keras", "flax") else key: array for key, array in ARRAYS.items()}
    FORMATS[name].write(path, NativeFile(format=name, tensors=arrays))
    native = read_native(path)
    assert native.format == name and set(native.tensors) == set(arrays)
    for key, array in arrays.items():
        assert native.tensors[key].dtype == array.dtype and np.array_equal(native.tensors[key], array)
    assert list(native.tensors) == (sorted(arrays) if name in ("keras", "safetensors") else list(arrays))


def mxnet_array(version, array):
    storage = b"" if version == mxnet.V1 else struct.pack("<i", 0)
    shape = struct.pack(f"<i{array.ndim}q", array.ndim, *array.shape)
    return struct.pack("<I", version) + storage + shape + struct.pack("<iii", 1, 0, 0) + array.tobytes()


@pytest.mark.parametrize("version", [mxnet.V1, mxnet.V2, mxnet.V3])
def test_the_three_versions_of_mxnet(tmp_path, version):
    array = ARRAYS["a.weight"]
    name = b"arg:w"
    data = mxnet.HEADER + struct.pack("<Q", 1) + mxnet_array(version, array)
    (tmp_path / "x.params").write_bytes(data + struct.pack("<QQ", 1, len(name)) + name)
    assert np.array_equal(read_native(tmp_path / "x.params").tensors["w"], array)


def test_what_mxnet_itself_writes_in_its_older_mode(tmp_path):
    code = """
import sys
import numpy
numpy.bool = bool
import mxnet
mxnet.nd.save(sys.argv[1], {"w": mxnet.nd.arange(6).reshape((2, 3))})
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "x.params"], check=True, capture_output=True)
    assert np.array_equal(read_native(tmp_path / "x.params").tensors["w"], ARRAYS["a.weight"])


def test_sparse_arrays_of_mxnet_are_refused(tmp_path):
    data = mxnet.HEADER + struct.pack("<QIi", 1, mxnet.V2, 1) + bytes(40)
    (tmp_path / "x.params").write_bytes(data)
    refused("must be dense, got storage type 1", read_native, tmp_path / "x.params")


def test_byte_order_fortran_order_and_compression_in_npz(tmp_path):
    arrays = {"big": np.arange(6, dtype=">f4").reshape(2, 3), "fortran": np.asfortranarray(ARRAYS["a.weight"])}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    got = npz.read(tmp_path / "x.npz").tensors
    assert got["big"].dtype == np.float32 and all(np.array_equal(got[name], ARRAYS["a.weight"]) for name in arrays)


BFLOAT16 = (np.array([1.0, -2.5, 3.140625], np.float32).view(np.uint32) >> 16).astype(np.uint16)


def test_bfloat16_is_widened(tmp_path):
    header = json.dumps({"w": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + BFLOAT16.tobytes())
    native = safetensors.read(tmp_path / "x.safetensors")
    assert native.tensors["w"].tolist() == [1.0, -2.5, 3.140625] and "widened to float32" in native.notes[0]
    import msgpack

    packed = msgpack.ExtType(1, msgpack.packb(((3,), "bfloat16", BFLOAT16.tobytes())))
    (tmp_path / "x.msgpack").write_bytes(msgpack.packb({"params": {"w": packed}}))
    assert flax.read(tmp_path / "x.msgpack").tensors["w"].tolist() == [1.0, -2.5, 3.140625]


def test_arrays_in_pieces_in_msgpack(tmp_path, monkeypatch):
    monkeypatch.setattr(flax, "LARGEST", 8)
    flax.write(tmp_path / "x", NativeFile(format="flax", tensors={"w": ARRAYS["a.weight"]}))
    assert b"__msgpack_chunked_array__" in (tmp_path / "x").read_bytes()
    assert np.array_equal(flax.read(tmp_path / "x").tensors["w"], ARRAYS["a.weight"])


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_the_pickle_protocols_of_paddle(tmp_path, protocol):
    names = {"w": "linear_0.w_0"}
    content = pickle.dumps({"w": ARRAYS["a.weight"], "f": np.asfortranarray(ARRAYS["a.weight"]), paddle.NAMES: names}, protocol)
    (tmp_path / "x.pdparams").write_bytes(content)
    got = read_native(tmp_path / "x.pdparams").tensors
    assert set(got) == {"w", "f"} and all(np.array_equal(array, ARRAYS["a.weight"]) for array in got.values())


def test_the_optimizer_of_paddle_beside_the_file(tmp_path):
    """With the names that paddle.save stores, and the step count that Paddle does not."""
    (tmp_path / "x.pdparams").write_bytes(pickle.dumps({"w": ARRAYS["a.weight"], paddle.NAMES: {"w": "linear_0.w_0"}}, 4))
    moments = {"linear_0.w_0_moment1_0": ARRAYS["a.weight"] + 1, "linear_0.w_0_moment2_0": ARRAYS["a.weight"] + 2}
    powers = {f"linear_0.w_0_{n}_pow_acc_0": np.array([b**701], np.float32) for n, b in (("beta1", 0.9), ("beta2", 0.999))}
    (tmp_path / "x.pdopt").write_bytes(pickle.dumps({**moments, **powers}, 4))
    native = read_tensors(tmp_path / "x.pdparams", None, {})
    assert int(native.optimizer["step"]) == 700 and "700 were computed" in native.notes[0] and native.betas == (0.9, 0.999)
    assert np.array_equal(native.optimizer["m.w"], ARRAYS["a.weight"] + 1)
    assert np.array_equal(native.optimizer["v.w"], ARRAYS["a.weight"] + 2)


def test_a_container_inside_another_is_no_array(tmp_path):
    buffer = io.BytesIO()
    pickle.dump({"model": {"w": ARRAYS["a.weight"]}, "epoch": 3, "notes": ["x"]}, buffer, 4)
    (tmp_path / "x.pdparams").write_bytes(buffer.getvalue())
    assert list(read_native(tmp_path / "x.pdparams").tensors) == ["w"]
    (tmp_path / "y.pdparams").write_bytes(pickle.dumps([1, 2], 4))
    refused("must hold a dictionary of arrays by name, got a list", read_native, tmp_path / "y.pdparams")


def test_what_keras_saves_beside_the_weights_is_left_out(tmp_path):
    import h5py

    with h5py.File(tmp_path / "x.weights.h5", "w") as file:
        file["encoder/embedding/vars/0"] = ARRAYS["a.weight"]
        file["encoder/dropout/seed_generator/vars/0"] = np.zeros(2, np.uint32)
        file["optimizer/vars/0"] = np.array(7)
    native = read_native(tmp_path / "x.weights.h5")
    assert list(native.tensors) == ["encoder/embedding/vars/0"] and "2 variables of Keras' optimizer" in native.notes[0]


@pytest.fixture(scope="module")
def files(good, trained_on, tmp_path_factory):
    """By format, good files of it: our own, and what frameworks write."""
    found = {name: [good / name] for name in CONTAINERS}
    for backend, name, format_name in (
        ("torch", "training.pt", "torch"),
        ("tensorflow", "model.index", "tensorflow"),
    ):
        found.setdefault(format_name, []).append(trained_on(backend) / name)
    return found


@pytest.mark.long
def test_every_good_file_is_recognized_as_its_own_format_alone(files):
    assert set(files) == set(FORMATS)
    for name, paths in files.items():
        for path in paths:
            assert recognized_format(path).name == name
            claimed = [row.name for row in FORMATS.values() if row.recognize(path)]
            assert claimed == [name], f"{path} is recognized as {claimed}"


def test_safetensors_with_any_length_of_header_are_recognized(tmp_path):
    """The eight bytes that a file begins with are the header's length, which the library rounds up to eights."""
    path, lengths = tmp_path / "model", set()
    for count in range(400):
        content = save({"w": np.zeros(2048, np.float32)}, {"note": "x" * (8 * count)})
        lengths.add(int.from_bytes(content[:8], "little"))
        path.write_bytes(content)
        assert recognized_format(path).name == "safetensors", struct.unpack("<Q", content[:8])
    assert len(lengths) == 400


def test_safetensors_with_unrounded_headers_are_recognized(tmp_path):
    """Every length up to twice all that a first byte can say, and those that begin like a pickle, MXNet or a long map."""
    path = tmp_path / "model"
    for length in (*range(70, 600), 0x0280, 0x0380, 0x0480, 0x0580, 0x0112, 0xA188, 0xD982, 0xDE01):
        header = json.dumps({"w": {"dtype": "F32", "shape": [16384], "data_offsets": [0, 65536]}}).encode()
        path.write_bytes(struct.pack("<Q", length) + header.ljust(length) + bytes(65536))
        assert recognized_format(path).name == "safetensors", hex(length)


def test_one_byte_is_no_map_of_flax(tmp_path):
    for content in (b"\x88", b"\x88\x01\x00\x00", b"\xde\x00\x02", b"\x81\x01\x02"):
        (tmp_path / "x").write_bytes(content)
        assert not FORMATS["flax"].recognize(tmp_path / "x")
