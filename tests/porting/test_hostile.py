"""Damaged files and hostile ones: nothing hangs or fills the memory, and what comes is one clear error."""

import json
import random
import shutil
import time
import tracemalloc

import pytest

from elsewhere import elsewhere
from porting.hostile_files import hostile_files, large_files
from porting.hugging_face import MADE, folder_of
from porting.mutations import alarm, mutated
from porting.small_model import refused, spoil
from transformer_mb.errors import PortError
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.files.sources import read_source

IN_PROCESS = ["npz", "safetensors", "mxnet", "paddle", "flax", "stacks"]  # the last in a safetensors file
SECONDS, MEGABYTES = 10, 1000  # of a file under a megabyte, its reader's start and workers included
GROWTH, ALLOWANCE = 80, 4 << 20  # memory: a small multiple of the file, and what Python itself takes


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


def test_damaged_folders(trained_on, tmp_path):
    assert fuzz_folder(trained_on("numpy") / "canonical", 60, 0, tmp_path) >= 20
    (tmp_path / "copy").mkdir()
    assert fuzz_folder(folder_of("bert", tmp_path / "bert"), 60, 0, tmp_path / "copy") >= 15


@pytest.mark.long
def test_many_damaged_folders(trained_on, tmp_path, references):
    folders = {
        "canonical": trained_on("numpy") / "canonical",
        "bert": folder_of("bert", tmp_path / "bert"),
        "marian": references["published"].folder,
    }
    for name, folder in folders.items():
        (tmp_path / f"{name}_copy").mkdir()
        refused = fuzz_folder(folder, 500, 9000, tmp_path / f"{name}_copy")
        print(f"{name}: {refused} of 500 refused")
        assert refused >= 100


def fuzz_natively(runner, file, count, seed):
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    given = {"runner": runner, "file": file, "count": count, "seed": seed}
    _, found = elsewhere("porting.mutations:fuzz", timeout=None, environment=environment, **given)
    assert sum(found["outcome"].values()) == count
    assert set(found["outcome"]) <= {"read", "refused", "crashed"}, found
    assert found["outcome"].get("refused", 0) >= count // 4
    assert found["largest"] <= 64 << 20, found
    return found


def test_damaged_hdf5(good):
    fuzz_natively("hdf5", good / "keras", 60, 0)


@pytest.mark.long
def test_many_damaged_files_that_frameworks_read(good, trained_on):
    for runner, file, count in (
        ("hdf5", good / "keras", 1000),
        ("torch", trained_on("torch") / "training.pt", 600),
        ("tensorflow", trained_on("tensorflow") / "model.index", 400),
    ):
        print(runner, fuzz_natively(runner, file, count, 5000))


@pytest.fixture(scope="module")
def figures(request):
    """What each hostile file took, printed as a table at the end."""
    rows = []
    yield rows
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{'format':12} {'file':34} {'bytes':>10} {'seconds':>8} {'MB':>6}")
        for kind, name, size, seconds, megabytes in sorted(rows):
            print(f"{kind:12} {name:34} {size:>10} {seconds:8.2f} {megabytes:6.0f}")


def read_limited(path, kind, name, content, figures, seconds, megabytes):
    """Read the file in a process that is ended beyond twice the ceilings; how that ended."""
    path.write_bytes(content)
    # torch reserves gigabytes that it never touches.
    given = {"path": path, "kind": kind, "seconds": 6 * seconds, "megabytes": 16_000 if kind == "torch" else 2 * megabytes}
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    _, found = elsewhere("porting.mutations:read", timeout=None, environment=environment, **given)
    figures.append((kind, name, len(content), found["seconds"], found["megabytes"]))
    assert found["seconds"] <= seconds and found["megabytes"] <= megabytes, found
    return found["ended"]


HOSTILE = hostile_files()


@pytest.mark.long(but=12)
@pytest.mark.parametrize(("kind", "name"), HOSTILE, ids=[f"{kind}: {name}" for kind, name in HOSTILE])
def test_a_hostile_file_takes_seconds_and_little_memory(tmp_path, figures, kind, name):
    content = HOSTILE[kind, name]
    assert len(content) < 1 << 20
    ended = read_limited(tmp_path / "file", kind, name, content, figures, SECONDS, MEGABYTES)
    assert "unexpected" not in ended and len(ended) > 20, ended


@pytest.mark.long
def test_large_hostile_files_are_not_read(tmp_path, figures):
    """Those that took gigabytes or minutes."""
    for (kind, name), make in large_files().items():
        assert read_limited(tmp_path / "file", kind, name, make(), figures, 30, MEGABYTES) != "read"


LIES = [None, True, -1, 0, 2**31, 2**63, 10**30, 1e308, float("nan"), "x", "9" * 5000, [], {}, [[]], [[6]], [[10**9]], [["a"]]]


def lying(data, chance):
    """A JSON object, one of its fields (or one that it may have) being another value."""
    fields = json.loads(data)
    fields[chance.choice([*fields, "bad_words_ids", "position_embedding_type"])] = chance.choice(LIES)
    return json.dumps(fields).encode()


def read_damaged(name, place, count):
    folder, row = folder_of(name, place), FAMILIES[name]
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused = 0
    for seed in range(count):
        chance = random.Random(seed)
        name = chance.choice(list(files))
        lie = name.endswith(".json") and chance.random() < 0.5
        (folder / name).write_bytes(lying(files[name], chance) if lie else mutated(files[name], seed))
        started = time.monotonic()
        try:
            row.recognize(folder)
            row.read(folder, {})
        except PortError:
            refused += 1
        assert time.monotonic() - started < 10.0
        (folder / name).write_bytes(files[name])
    assert refused > count / 4


@pytest.mark.parametrize("name", MADE)
def test_damaged_folders_of_transformers(name, tmp_path):
    read_damaged(name, tmp_path, 80)


@pytest.mark.long
@pytest.mark.parametrize("name", MADE)
def test_thousands_of_damaged_folders_of_transformers(name, tmp_path):
    read_damaged(name, tmp_path, 3000)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("bert", "num_hidden_layers"),
        ("bert", "max_position_embeddings"),
        ("marian", "encoder_layers"),
        ("marian", "decoder_layers"),
        ("marian", "max_position_embeddings"),
    ],
)
def test_sizes_that_no_tensor_bears_out(name, field, tmp_path):
    """Names of two thousand million layers would fill the memory before any of them is found missing."""
    spoil(folder_of(name, tmp_path) / "config.json", **{field: 2**31})
    refused("must be at most|must have shape", FAMILIES[name].read, tmp_path, {})
