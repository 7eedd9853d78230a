"""Ports onto a disk that is full: a clean failure, and what was there before is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from porting.destinations import FILES, FOLDERS, content, source_for

COMMAND = "import sys; from transformer_mb.cli.main import main; sys.exit(main())"


def port(*arguments, temporary=None):
    command = [sys.executable, "-P", "-c", COMMAND, "port", *map(str, arguments)]
    environment = dict(os.environ) if temporary is None else {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment)


def fill(small_disk, leaving):
    (small_disk / "ballast").write_bytes(b"")
    found = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(max(found.f_bavail * found.f_bsize - leaving, 0)))


def assert_clean(done):
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1 and "unexpected" not in done.stderr, done.stderr
    assert "No space left on device" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("target", [*FILES, *FOLDERS])
def test_a_full_disk_leaves_what_was_there(small_disk, tmp_path, target):
    """At once full, and full after some of the new content; with and without --force."""
    sources = [source_for(target, number, tmp_path / str(number)) for number in (0, 1)]
    first = (
        port(sources[0], tmp_path / "first" / "model.weights.h5", "--to", target)
        if (tmp_path / "first").mkdir() is None
        else None
    )
    assert first is not None and first.returncode == 0, first
    size = sum(len(data) for data in content(tmp_path / "first").values() if isinstance(data, bytes))
    for force in (False, True):
        for share in (0.0, 0.6):
            (small_disk / "out").mkdir()
            if force:
                shutil.copytree(tmp_path / "first", small_disk / "out", dirs_exist_ok=True)
            before = content(small_disk / "out")
            fill(small_disk, int(share * size))
            done = port(sources[1], small_disk / "out" / "model.weights.h5", "--to", target, *(["--force"] if force else []))
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
    done = port(source, tmp_path / "out" / "model.weights.h5", "--to", target, temporary=small_disk)
    assert_clean(done)
    assert os.listdir(tmp_path / "out") == [] and os.listdir(small_disk) == ["ballast"]
