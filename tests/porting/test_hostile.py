"""Files that lie: nothing is executed, nothing hangs or fills the memory, and what comes is one clear error."""

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
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting import hugging_face
from porting.mutations import mutated
from transformer_mb.errors import PortError
from transformer_mb.porting.families import FAMILIES, bert
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.inspection import inspect
from transformer_mb.porting.ported import NativeFile, PortedModel
from transformer_mb.porting.sources import read_native, read_source
from transformer_mb.porting.targets import find_target, write_target

HERE = Path(__file__).parent
CONTAINERS = ["npz", "safetensors", "mxnet", "paddle", "flax"]
IN_PROCESS = [*CONTAINERS, "stacks"]  # the last in a safetensors file
GROWTH, ALLOWANCE = 80, 4 << 20  # memory: a small multiple of the file, and what Python itself takes


@pytest.fixture(scope="module")
def good(trained, tmp_path_factory):
    """A good file of each format."""
    folder = tmp_path_factory.mktemp("good")
    model = read_source(trained("numpy") / "canonical", None, {}).model
    for name in (*CONTAINERS, "keras"):
        write_target(model, find_target(name), folder / name, {})
    biases = {"encoder_attention_bias": True, "decoder_attention_bias": True, "final_norm": True}
    config = tmb.presets.d2l(11, 13, num_hiddens=8, ffn_num_hiddens=12, **biases)
    backend = tmb.get_backend("numpy")
    stacks = PortedModel(config=config, weights=backend.get_weights(backend.build(config)))
    native = FAMILIES["torch_transformer"].module.write(stacks, "safetensors")
    FORMATS["safetensors"].module.write(folder / "stacks", native)
    return folder


@contextmanager
def alarm(seconds):
    def ring(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fuzz(good, name, count, seed, tmp_path):
    """How many of ``count`` damaged files were refused; every other end but being read fails."""
    data, path = (good / name).read_bytes(), tmp_path / "damaged"
    refused = 0
    tracemalloc.start()
    try:
        for number in range(count):
            path.write_bytes(mutated(data, seed + number))
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            try:
                with alarm(20):
                    read_source(path, "safetensors" if name == "stacks" else name, {"num_heads": 2})
            except PortError as error:
                assert len(str(error)) > 20
                refused += 1
            except Exception as error:
                raise AssertionError(f"{name}, seed {seed + number}: {type(error).__name__}: {error}") from error
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before <= GROWTH * len(data) + ALLOWANCE, f"{name}, seed {seed + number}: {peak - before} bytes"
    finally:
        tracemalloc.stop()
    return refused


@pytest.mark.parametrize("name", IN_PROCESS)
def test_damaged_files(good, tmp_path, name):
    assert fuzz(good, name, 60, 0, tmp_path) >= 20


@pytest.mark.long
@pytest.mark.parametrize("name", IN_PROCESS)
def test_thousands_of_damaged_files(good, tmp_path, name):
    refused = fuzz(good, name, 1600, 1000, tmp_path)
    print(f"{name}: {refused} of 1600 refused")
    assert refused >= 500


def fuzz_folder(folder, count, seed, tmp_path):
    """Like ``fuzz``, one file of a folder being damaged at a time."""
    copy = tmp_path / "folder"
    shutil.copytree(folder, copy)
    files = sorted(path for path in copy.iterdir() if path.is_file())
    refused = 0
    for number in range(count):
        path = files[number % len(files)]
        data = path.read_bytes()
        path.write_bytes(mutated(data, seed + number))
        try:
            with alarm(20):
                read_source(copy, None, {})
        except PortError as error:
            assert len(str(error)) > 20
            refused += 1
        except Exception as error:
            raise AssertionError(f"{path.name}, seed {seed + number}: {type(error).__name__}: {error}") from error
        path.write_bytes(data)
    assert read_source(copy, None, {}).model.weights
    return refused


def test_damaged_folders(trained, tmp_path):
    assert fuzz_folder(trained("numpy") / "canonical", 60, 0, tmp_path) >= 20
    (tmp_path / "bert").mkdir()
    (tmp_path / "copy").mkdir()
    bert.write(hugging_face.small_bert(), tmp_path / "bert")
    assert fuzz_folder(tmp_path / "bert", 60, 0, tmp_path / "copy") >= 15


@pytest.mark.long
def test_many_damaged_folders(trained, tmp_path, references):
    (tmp_path / "bert").mkdir()
    bert.write(hugging_face.small_bert(), tmp_path / "bert")
    folders = {
        "canonical": trained("numpy") / "canonical",
        "bert": tmp_path / "bert",
        "marian": references["published"].folder,
    }
    for name, folder in folders.items():
        (tmp_path / f"{name}_copy").mkdir()
        refused = fuzz_folder(folder, 500, 9000, tmp_path / f"{name}_copy")
        print(f"{name}: {refused} of 500 refused")
        assert refused >= 100


def fuzz_natively(runner, file, count, seed):
    command = [sys.executable, HERE / "fuzz_native.py", runner, file, count, seed]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert sum(found["outcome"].values()) == count
    assert set(found["outcome"]) <= {"read", "refused", "crashed"}, found
    assert found["outcome"].get("refused", 0) >= count // 4
    assert found["largest"] <= 64 << 20, found
    return found


def test_damaged_hdf5(good):
    fuzz_natively("hdf5", good / "keras", 60, 0)


@pytest.mark.long
def test_many_damaged_files_that_frameworks_read(good, trained):
    for runner, file, count in (
        ("hdf5", good / "keras", 1000),
        ("torch", trained("torch") / "training.pt", 600),
        ("tensorflow", trained("tensorflow") / "model.index", 400),
    ):
        print(runner, fuzz_natively(runner, file, count, 5000))


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
    with pytest.raises(PortError, match="would call (posix|nt).system"):
        read_source(path, None, {})


def test_a_pytorch_file_that_would_execute_something_is_refused_by_name(tmp_path, trap):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({"weight": trap}, 2))
        archive.writestr("model/version", "3\n")
    with pytest.raises(PortError, match="would call posix.system"):
        read_source(path, None, {})


def test_object_arrays_in_an_npz_are_refused(tmp_path, trap):
    path = tmp_path / "model.npz"
    np.savez(path, weight=np.array([trap], dtype=object))
    with pytest.raises(PortError, match="'weight' must be of float64, .*'object' came"):
        read_source(path, None, {})


def test_an_optimizer_beside_a_good_file_is_not_trusted_either(good, tmp_path, trap):
    (tmp_path / "model.pdparams").write_bytes((good / "paddle").read_bytes())
    (tmp_path / "model.pdopt").write_bytes(pickle.dumps({"w": trap}, 4))
    with pytest.raises(PortError, match="would call"):
        read_source(tmp_path / "model.pdparams", None, {"num_heads": 2})


def pickled(code):
    return b"\x80\x04" + code + b"."


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
    with pytest.raises(PortError, match="too many for a file of"):
        read_source(path, None, {})


def test_an_npz_whose_header_claims_more_than_it_holds(tmp_path):
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1 << 20)})
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        archive.writestr("weight.npy", member.getvalue() + b"1234")
    with pytest.raises(PortError, match="must hold 4611686018427387904 bytes, but 4 came"):
        read_source(tmp_path / "model.npz", None, {})


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
        ("external link", "must be in the file itself, but it is a ExternalLink"),
        ("soft link", "must be in the file itself, but it is a SoftLink"),
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
    with pytest.raises(PortError, match=words):
        read_native(path)


def test_a_pytorch_file_that_unpacks_to_more_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data.pkl", bytes(1 << 22))
    with pytest.raises(PortError, match="would unpack to more"):
        read_source(path, None, {})


def test_what_is_none_of_the_formats(tmp_path):
    for content in (b"", b"hello", bytes(100), b"PK\x03\x04"):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(PortError, match="its content is of none"):
            inspect(path)


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
        "encoder.blks.block0.addnorm1.ln.weight must have shape [8], but [9] came",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize("lie", [{"encoder_num_layers": 10**9}, {"max_len": 10**12}, {"target_vocab_size": 10**12}])
def test_sizes_that_no_tensor_bears_out(good, trained, tmp_path, lie):
    """In a checkpoint's config.json, in the metadata of a safetensors file, and in the settings."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(trained("numpy") / "canonical", folder)
    described = json.loads((folder / "config.json").read_text())
    config = {**described["config"], **lie}
    (folder / "config.json").write_text(json.dumps({**described, "config": config}))
    native = read_native(good / "npz")
    FORMATS["safetensors"].module.write(
        tmp_path / "x.safetensors", NativeFile(format="safetensors", tensors=native.tensors, settings=config)
    )
    for path, settings in ((folder, {}), (tmp_path / "x.safetensors", {}), (good / "npz", {"num_heads": 2, **lie})):
        with alarm(10), pytest.raises(PortError, match="at most|contradict|must have shape"):
            read_source(path, None, settings)


def test_a_loader_that_never_ends_is_ended(monkeypatch):
    """By the ceiling on computing time, in a child of this process."""
    from transformer_mb.porting import limits

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
from transformer_mb.porting.limits import limit_process
limit_process(1000)
numpy.ones(16 << 20, numpy.uint8)
try:
    numpy.ones(1 << 30, numpy.uint8)
except MemoryError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
