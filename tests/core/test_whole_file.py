"""Files that are written whole: permissions, links, what is no file, and what cannot be written."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import DestinationError
from transformer_mb.files import renames
from transformer_mb.files.own_names import PREFIX, stage_name
from transformer_mb.files.staging import staged
from transformer_mb.files.tensors import write_tensors
from transformer_mb.files.unbroken import unbroken
from transformer_mb.files.whole_file import check_new, check_writable, place_files, replaced_file, write_whole


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_permissions_are_those_of_any_new_file_or_of_the_one_replaced(tmp_path, umask):
    path = tmp_path / "a.json"
    write_whole(path, "1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_whole(path, "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604 and path.read_text() == "2"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "latest.json").symlink_to(tmp_path / "runs" / "1.json")
    for text in ("new", "newer"):  # it leads nowhere at first
        write_whole(tmp_path / "latest.json", text)
        assert (tmp_path / "latest.json").is_symlink() and (tmp_path / "runs" / "1.json").read_text() == text


def test_a_pipe_and_a_device_are_written_to_and_stay(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_whole(tmp_path / "pipe", "words")
    reader.join(10)
    assert read == ["words"] and (tmp_path / "pipe").is_fifo()
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    write_whole(tmp_path / "null", "words")
    assert (tmp_path / "null").is_char_device()


@pytest.mark.parametrize(
    ("name", "code"), [("folder", errno.EISDIR), ("file/a.json", errno.ENOTDIR), ("file/b/a.json", errno.ENOTDIR)]
)
def test_what_cannot_be_written_is_found_out_before(tmp_path, name, code):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for way in (check_writable, lambda path: write_whole(path, "words")):
        with pytest.raises(OSError, match=name) as caught:
            way(tmp_path / name)
        assert caught.value.errno == code and caught.value.filename == str(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_full_disk_names_the_file_and_keeps_the_old_one(tmp_path, request):
    write_whole(tmp_path / "a.json", "old")

    request.getfixturevalue("disk_full")
    with pytest.raises(OSError, match=r"No space left on device: .*a\.json"):
        write_whole(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "old" and os.listdir(tmp_path) == ["a.json"]


def test_an_error_of_the_block_is_its_own(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), replaced_file(tmp_path / "a.json"):
        (tmp_path / "elsewhere").read_text()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("way", ["exchange", "link", "copy"])
@pytest.mark.parametrize("fails", ["c", "d", None])
def test_files_that_belong_together_go_back_together(tmp_path, monkeypatch, fails, way):
    """One of the last cannot be placed: new ones go, replaced ones come back, on a file system of any kind."""
    out = tmp_path / "out"
    out.mkdir()
    for name in "bd":
        (out / name).write_text(f"old {name}")
    new = [tmp_path / name for name in "abcd"]
    for path in new:
        path.write_text("new")

    def planted(real):
        def call(first, second):
            if fails is not None and second == out / fails:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(second))
            return real(first, second)

        return call

    def missing(*arguments):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if way != "exchange":
        monkeypatch.setattr(renames, "_renamed", lambda first, second, flag: False)
        monkeypatch.setattr(os, "link", missing if way == "copy" else os.link)
    for module, name in ((renames, "exchange"), (renames, "rename_new")):
        monkeypatch.setattr(module, name, planted(getattr(module, name)))
    if fails is None:
        place_files(new, out, replace=True)
        assert {path.name: path.read_text() for path in out.iterdir()} == dict.fromkeys("abcd", "new")
        return
    with pytest.raises(OSError, match="Input/output error"):
        place_files(new, out, replace=True)
    assert {path.name: path.read_text() for path in out.iterdir()} == {"b": "old b", "d": "old d"}


def test_only_what_a_dead_process_left_is_removed(tmp_path):
    """Whatever folders of the user's are called: the project's prefix, and the names of the standard library's mkdtemp, too."""
    abandoned = tmp_path / stage_name()
    mine = [
        tmp_path / name for name in (".mine", f"{PREFIX}backup", f"{PREFIX}k3_x9a0b", f"{PREFIX}model.ready", f"{PREFIX}1-2")
    ]
    for folder in (abandoned, *mine):
        folder.mkdir()
        (folder / "half").touch()
    with staged(tmp_path) as first, staged(tmp_path) as second:
        assert first.is_dir() and second.is_dir() and not abandoned.exists()
    assert sorted(os.listdir(tmp_path)) == sorted(folder.name for folder in mine)
    assert all((folder / "half").exists() for folder in mine)


def test_an_empty_file_is_a_new_one(tmp_path):
    """``mktemp`` has made it; one that holds anything is not replaced."""
    path = tmp_path / "a.json"
    path.touch()
    check_new(path)
    place_files([_written(tmp_path / "stage" / "a.json", "new")], tmp_path, replace=False)
    assert path.read_text() == "new"
    with pytest.raises(DestinationError, match="must be a new file, but there is one already"):
        check_new(path)
    with pytest.raises(FileExistsError):
        place_files([_written(tmp_path / "stage" / "a.json", "newer")], tmp_path, replace=False)


def test_new_folders_above_a_file_are_flushed_to_the_disk(tmp_path, monkeypatch):
    """A name is in the folder above it: without that a machine that stops forgets the whole branch."""
    flushed, real = set(), os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (flushed.add(os.fstat(descriptor).st_ino), real(descriptor))[1])
    write_whole(tmp_path / "a" / "b" / "c.json", "1")
    assert {path.stat().st_ino for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")} <= flushed


def _written(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_signal_waits_for_the_end_of_what_must_not_be_half():
    seen = []
    with pytest.raises(KeyboardInterrupt):
        with unbroken():
            signal.raise_signal(signal.SIGINT)
            seen.append("all of it")
        seen.append("and no more")
    assert seen == ["all of it"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_files_of_tensors_have_the_permissions_that_the_umask_leaves(cli, settings_file, tmp_path):
    before = os.umask(0o027)
    try:
        assert cli("train", settings_file, "--epochs", 1, "--out", tmp_path / "model").status == 0
        tmb.save(tmb.load(tmp_path / "model", backend="numpy"), tmp_path / "alone")
        tmb.port(tmp_path / "model", tmp_path / "model.safetensors", to="safetensors")
        write_tensors(tmp_path / "tensors.safetensors", {"w": np.zeros(2)})
    finally:
        os.umask(before)
    written = [*(tmp_path / "model").iterdir(), *(tmp_path / "alone").iterdir(), *tmp_path.glob("*.safetensors")]
    assert len(written) == 10
    assert {path.name: path.stat().st_mode & 0o777 for path in written} == {path.name: 0o640 for path in written}
