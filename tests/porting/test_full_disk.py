"""A disk that is full while a port is written: one clear error, nothing is left of it, and what was there before is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from porting.destinations import FILES, FOLDERS, content, source_for
from porting.hugging_face import small_marian
from transformer_mb.errors import PortError
from transformer_mb.porting import worker
from transformer_mb.porting.families import marian
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.model import NativeFile
from transformer_mb.porting.port import port

ROOM = 4 << 20  # bytes: more than ``small_disk`` has


def port_elsewhere(*arguments, **environment):
    command = [sys.executable, "-P", "-m", "transformer_mb", "port", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, env={**os.environ, **environment})


def fill(small_disk, leaving):
    (small_disk / "ballast").write_bytes(b"")
    found = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(max(found.f_bavail * found.f_bsize - leaving, 0)))


def assert_clean(done):
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1 and "unexpected" not in done.stderr, done.stderr
    assert "No space left on device" in done.stderr


def test_a_keras_file_on_a_full_disk_is_an_error_and_leaves_nothing(good, trained_on, small_disk):
    """In a process of its own, since the C library under h5py once ended it by a signal."""
    fill(small_disk, 16384)
    done = port_elsewhere(trained_on("numpy") / "canonical", small_disk / "x.weights.h5", "--to", "keras")
    assert_clean(done)
    assert "cannot be written: No space left on device" in done.stderr and len(done.stderr) < 1000
    assert os.listdir(small_disk) == ["ballast"]


@pytest.mark.parametrize("name", [name for name, row in FORMATS.items() if row.write and name != "torch"])
def test_every_writer_says_that_the_disk_is_full(small_disk, name):
    tensors = {f"w{i}": np.random.default_rng(i).normal(size=ROOM // 8) for i in range(3)}
    with pytest.raises(OSError, match="No space left on device"):
        FORMATS[name].write(small_disk / "x", NativeFile(format=name, tensors=tensors))


def test_a_marian_folder_on_a_full_disk_is_an_error(small_disk):
    fill(small_disk, 8192)
    (small_disk / "x").mkdir()
    with pytest.raises(OSError, match="No space left on device"):
        marian.write(small_marian(), small_disk / "x")


@pytest.mark.parametrize("target", ["torch", "npz", "canonical", "marian", "onnx", "ctranslate2"])
def test_a_full_destination_is_named_as_the_user_does(small_disk, tmp_path, target):
    """Whoever writes it, and wherever it lies until it is whole."""
    source = source_for(target, 0, tmp_path / "source")
    fill(small_disk, 8192)
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


@pytest.mark.long
@pytest.mark.parametrize("target", [*FILES, *FOLDERS])
def test_a_full_disk_leaves_what_was_there(small_disk, tmp_path, target):
    """At once full, and full after some of the new content; with and without --force."""
    sources = [source_for(target, number, tmp_path / str(number)) for number in (0, 1)]
    (tmp_path / "first").mkdir()
    first = port_elsewhere(sources[0], tmp_path / "first" / "model.weights.h5", "--to", target)
    assert first.returncode == 0, first
    size = sum(len(data) for data in content(tmp_path / "first").values() if isinstance(data, bytes))
    for force in (False, True):
        for share in (0.0, 0.6):
            (small_disk / "out").mkdir()
            if force:
                shutil.copytree(tmp_path / "first", small_disk / "out", dirs_exist_ok=True)
            before = content(small_disk / "out")
            fill(small_disk, int(share * size))
            forced = ["--force"] if force else []
            done = port_elsewhere(sources[1], small_disk / "out" / "model.weights.h5", "--to", target, *forced)
            assert_clean(done)
            assert f"{small_disk}/out/model.weights.h5 cannot be written: No space left" in done.stderr
            assert content(small_disk / "out") == before, (force, share)
            (small_disk / "ballast").unlink()
            shutil.rmtree(small_disk / "out")
    print(f"{target}: 4 ports onto a full disk, with and without --force: 4 clean failures, the old content whole")


@pytest.mark.parametrize("target", ["keras", "ctranslate2"])
def test_a_full_folder_for_temporary_files_is_said(small_disk, tmp_path, target):
    source = source_for(target, 0, tmp_path / "source")
    (tmp_path / "out").mkdir()
    fill(small_disk, 8192)  # Python takes another folder where nothing at all can be written
    done = port_elsewhere(source, tmp_path / "out" / "model.weights.h5", "--to", target, TMPDIR=str(small_disk))
    assert_clean(done)
    assert os.listdir(tmp_path / "out") == [] and os.listdir(small_disk) == ["ballast"]
