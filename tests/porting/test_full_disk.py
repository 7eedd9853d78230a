"""A disk that is full while a port is written: one clear error, and nothing is left of it."""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from porting.destinations import source_for
from porting.hugging_face import small_marian
from transformer_mb.errors import PortError
from transformer_mb.porting import worker
from transformer_mb.porting.families import marian
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.model import NativeFile
from transformer_mb.porting.port import port

ROOM = 4 << 20  # bytes: more than ``small_disk`` has


def transformer_mb(*arguments, **environment):
    command = [sys.executable, "-m", "transformer_mb", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_a_keras_file_on_a_full_disk_is_an_error_and_leaves_nothing(good, trained_on, small_disk):
    """In a process of its own, since the C library under h5py once ended it by a signal."""
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_bsize - 16384))
    done = transformer_mb("port", trained_on("numpy") / "canonical", small_disk / "x.weights.h5", "--to", "keras")
    assert done.returncode == 2, done.stderr[-2000:]
    assert "cannot be written: No space left on device" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr and len(done.stderr) < 1000
    assert os.listdir(small_disk) == ["ballast"]


@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.writable and name != "torch"])
def test_every_writer_says_that_the_disk_is_full(small_disk, name):
    tensors = {f"w{i}": np.random.default_rng(i).normal(size=ROOM // 8) for i in range(3)}
    with pytest.raises(OSError, match="No space left on device"):
        FORMATS[name].module.write(small_disk / "x", NativeFile(format=name, tensors=tensors))


def test_a_marian_folder_on_a_full_disk_is_an_error(small_disk):
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_bsize - 8192))
    (small_disk / "x").mkdir()
    with pytest.raises(OSError, match="No space left on device"):
        marian.write(small_marian(), small_disk / "x")


@pytest.mark.parametrize("target", ["torch", "npz", "canonical", "marian", "onnx", "ctranslate2"])
def test_a_full_destination_is_named_as_the_user_does(small_disk, tmp_path, target):
    """Whoever writes it, and wherever it lies until it is whole."""
    source = source_for(target, 0, tmp_path / "source")
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_bsize - 8192))
    with pytest.raises(PortError) as caught:
        port(source, small_disk / "out", target)
    assert os.listdir(small_disk) == ["ballast"]
    words = rf"{small_disk}/out cannot be written: No space left on device.*\. What was there before is unchanged\."
    assert re.fullmatch(words, str(caught.value))


def test_a_full_temporary_folder_is_named_and_left_empty(small_disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    with pytest.raises(PortError, match=f"temporary folder {small_disk} cannot be written to: No space left on device"):
        worker.call("formats.native_loaders.keras:read", {"w": np.ones(ROOM)}, {})
    assert os.listdir(small_disk) == []
