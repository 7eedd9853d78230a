"""Files that lie in one way each: nothing is executed, nothing outside is opened, and what comes is one clear error."""

import io
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from porting.hostile_files import FLOAT, RECONSTRUCT, array_of, named, pickled, text
from porting.mutations import alarm
from porting.small_model import refused
from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_native, read_source
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.inspection import inspect
from transformer_mb.porting.model import NativeFile


class Calls:
    """A pickle that would call ``os.system``."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def trap(tmp_path):
    """An object that makes a file when it is unpickled; the file must not be there afterwards."""
    mark = tmp_path / "executed"
    yield Calls(f"touch {mark}")
    assert not mark.exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_would_execute_something_is_refused_by_name(tmp_path, trap, protocol):
    path = tmp_path / "model.pdparams"
    path.write_bytes(pickle.dumps({"weight": trap}, protocol))
    refused("would call (posix|nt).system", read_source, path, None, {})


def test_a_pytorch_file_that_would_execute_something_is_refused_by_name(tmp_path, trap):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({"weight": trap}, 2))
        archive.writestr("model/version", "3\n")
    refused("would call posix.system", read_source, path, None, {})


def test_object_arrays_in_an_npz_are_refused(tmp_path, trap):
    path = tmp_path / "model.npz"
    np.savez(path, weight=np.array([trap], dtype=object))
    refused("'weight' must be of float64, .*got 'object'", read_source, path, None, {})


def test_an_optimizer_beside_a_good_file_is_not_trusted_either(good, tmp_path, trap):
    (tmp_path / "model.pdparams").write_bytes((good / "paddle").read_bytes())
    (tmp_path / "model.pdopt").write_bytes(pickle.dumps({"w": trap}, 4))
    refused("would call", read_source, tmp_path / "model.pdparams", None, {"num_heads": 2})


BOMBS = {
    # t = (t, t) forty times over, then as a key: hashing it would take 2 to the 40th steps.
    "a key that takes forever": pickled(
        b")\x94" + b"".join(bytes((104, i, 104, i, 0x86, 0x94)) for i in range(40)) + b"}h\x28K\x01s"
    ),
    "an index far out": pickled(b"}r\xff\xff\xff\x7f"),
    "a text that is not there": pickled(b"X\xff\xff\xff\x7fabc"),
    "bytes that are not there": pickled(b"\x8e" + b"\xff" * 7 + b"\x7f"),
    "deep nesting": pickled(b"]" * 5000 + b"a" * 4999),
    "by its registry": pickled(b"\x82\x01"),
}


FIELDS = FLOAT + b"(K\x03" + text(b"<") + b"N" + text(b"a") + b"\x85}" + b"K\x04K\x01K\x10tb"
BESIDE = {
    "an array of objects": (RECONSTRUCT + b"J\x00\x46\xc3\x23\x85C\x01O\x87R", "must begin as numpy's, empty and of bytes"),
    "an array of many bytes": (RECONSTRUCT + b"J\x00\x46\xc3\x23\x85C\x01b\x87R", "must begin as numpy's, empty and of bytes"),
    "an array of another class": (RECONSTRUCT.replace(b"ndarray", b"dtype") + b"K\x00\x85C\x01b\x87R", "must begin as numpy's"),
    "an instance": (b"(inumpy\nndarray\n", "it uses INST"),
    "a dtype with fields": (FIELDS, "must say little-endian and no fields"),
    "a dtype of another size": (FLOAT + b"(K\x03" + text(b"<") + b"NNNK\x10K\x01K\x00tb", "must be a plain number's"),
    "a dictionary made of a list": (named("collections", "OrderedDict") + b"]\x85R", "must be made empty and then filled"),
    "an array built twice": (array_of(b"C\x04abcd", 1) + b"(K\x01K\x01\x85" + FLOAT + b"\x89C\x04abcdtb", "of a dtype, once"),
}


@pytest.mark.parametrize(("code", "words"), BESIDE.values(), ids=BESIDE)
def test_what_unpickling_would_carry_out_beside_good_tensors(good, tmp_path, code, words):
    """It stays on the stack, so that no tensor shows it: whatever else unpickles the file takes its memory, or worse."""
    path = tmp_path / "model.pdparams"
    content = (good / "paddle").read_bytes()
    path.write_bytes(content[:2] + code + content[11:])  # without the length of protocol 4's frame
    refused(words, read_native, path)


@pytest.mark.parametrize("code", BOMBS.values(), ids=BOMBS)
def test_pickles_that_would_exhaust_something(tmp_path, code):
    path = tmp_path / "model.pdparams"
    path.write_bytes(code)
    tracemalloc.start()
    try:
        with alarm(10), pytest.raises(PortError):
            read_source(path, "paddle", {})
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


def test_an_npz_that_unpacks_to_too_much_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    np.savez_compressed(path, weight=np.zeros(8 << 20, np.float32))
    refused("too many for a file of", read_source, path, None, {})


def test_an_npz_whose_header_claims_more_than_it_holds(tmp_path):
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1 << 20)})
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("weight.npy", member.getvalue() + b"1234")
    refused("must hold 4611686018427387904 bytes, got 4", read_source, tmp_path / "model.npz", None, {})


def hdf5_trap(path, kind):
    import h5py

    secret = path.with_name("secret.bin")
    secret.write_bytes(b"s" * 64)
    with h5py.File(path, "w") as file:
        if kind == "external link":
            file["weight"] = h5py.ExternalLink(str(secret), "/")
        elif kind == "soft link":
            file["weight"] = h5py.SoftLink("/elsewhere")
        elif kind == "external storage":
            file.create_dataset("weight", (16,), "f4", external=[(str(secret), 0, 64)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((4,), "f4")
            layout[:] = h5py.VirtualSource(str(secret), "x", (4,))
            file.create_virtual_dataset("weight", layout)
        elif kind == "never written":
            file.create_dataset("weight", (1 << 40,), "f4", chunks=(1 << 20,))
        elif kind == "text":
            file["weight"] = "words"
        else:
            group = file.create_group("a")
            group["again"] = file["/"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("external link", "must be in the file itself, got a ExternalLink"),
        ("soft link", "must be in the file itself, got a SoftLink"),
        ("external storage", "points to another"),
        ("virtual", "points to another"),
        ("never written", "must lie in the file"),
        ("text", "must be of float64"),
        ("a group in itself", "without end"),
    ],
)
def test_hdf5_that_reaches_out_or_claims_too_much(tmp_path, kind, words):
    path = tmp_path / "model.weights.h5"
    hdf5_trap(path, kind)
    refused(words, read_native, path)


def test_a_pytorch_file_that_unpacks_to_more_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data.pkl", bytes(1 << 22))
    refused("would unpack to more", read_source, path, None, {})


def test_what_is_none_of_the_formats(tmp_path):
    for content in (b"", b"hello", bytes(100), b"PK\x03\x04"):
        path = tmp_path / "file"
        path.write_bytes(content)
        refused("its content is of none", inspect, path)


def test_all_that_does_not_fit_is_listed_at_once(good, tmp_path):
    tensors = dict(read_native(good / "npz").tensors)
    del tensors["encoder.blks.block1.attention.W_k.weight"], tensors["decoder.dense.bias"]
    tensors["encoder.blks.block0.addnorm1.ln.weight"] = np.zeros(9, np.float32)
    tensors["surprise.weight"] = np.zeros((2, 3), np.float32)
    tensors["decoder.dense.bias2"] = np.zeros(13, np.float32)
    np.savez(tmp_path / "model.npz", **tensors)
    with pytest.raises(PortError) as caught:
        read_source(tmp_path / "model.npz", None, {"num_heads": 2})
    for words in (
        "missing encoder.blks.block1.attention.W_k.weight [8, 8]",
        "unexpected surprise.weight [2, 3]",
        "unexpected decoder.dense.bias2 [13]",
        "encoder.blks.block0.addnorm1.ln.weight must have shape [8], got [9]",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize("lie", [{"encoder_num_layers": 10**9}, {"max_len": 10**12}, {"target_vocab_size": 10**12}])
def test_sizes_that_no_tensor_bears_out(good, trained_on, tmp_path, lie):
    """In a checkpoint's config.json, in the metadata of a safetensors file, and in the settings."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(trained_on("numpy") / "canonical", folder)
    described = json.loads((folder / "config.json").read_text())
    config = {**described["config"], **lie}
    (folder / "config.json").write_text(json.dumps({**described, "config": config}))
    native = read_native(good / "npz")
    FORMATS["safetensors"].write(
        tmp_path / "x.safetensors", NativeFile(format="safetensors", tensors=native.tensors, settings=config)
    )
    for path, settings in ((folder, {}), (tmp_path / "x.safetensors", {}), (good / "npz", {"num_heads": 2, **lie})):
        with alarm(10), pytest.raises(PortError, match="at most|contradict|must have shape"):
            read_source(path, None, settings)


def test_a_loader_that_never_ends_is_ended(monkeypatch):
    """By the ceiling on computing time, in a child of this process."""
    from transformer_mb.machine import limits

    monkeypatch.setattr(limits, "SECONDS", 1)
    child = os.fork()
    if not child:
        limits.limit_process(0)
        while True:
            pass
    with alarm(60):
        _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU


def test_a_loader_that_takes_too_much_memory_is_refused_it():
    code = """
import numpy
from transformer_mb.machine.limits import limit_process
limit_process(1000)
numpy.ones(16 << 20, numpy.uint8)
try:
    numpy.ones(1 << 30, numpy.uint8)
except MemoryError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
