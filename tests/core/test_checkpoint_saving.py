"""Saving is all or nothing: whatever stops it, the folder holds the old checkpoint or the new one, and nothing else changed."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import time
from itertools import count
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
import pytest

from transformer_mb.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from transformer_mb.checkpoint.files import FILES
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import CheckpointError
from transformer_mb.files import renames
from transformer_mb.files.staging import staged
from transformer_mb.files.whole_folder import replaced_folder, siblings
from transformer_mb.initialization import initial_weights
from transformer_mb.training.destination import check_folder

CONFIG = TransformerConfig(source_vocab_size=9, target_vocab_size=9, num_hiddens=16, ffn_num_hiddens=32)


def checkpoint(number: int) -> Checkpoint:
    """Every tensor and trainer.json hold the number, so that a mixture of two saves shows."""
    weights = {name: np.full_like(value, number) for name, value in initial_weights(CONFIG).items()}
    moments = {f"{slot}.{name}": value for slot in ("m", "v") for name, value in weights.items()}
    return Checkpoint(
        config=CONFIG,
        weights=weights,
        optimizer={"step": np.asarray(number), **moments},
        trainer={"number": number},
    )


def number_in(folder: Path) -> int:
    found = read_checkpoint(folder)
    numbers = {float(value.flat[0]) for value in (*found.weights.values(), *found.optimizer.values())}
    assert numbers == {found.trainer["number"]}, "files of different saves"
    return found.trainer["number"]


def exchange_missing(first, second) -> bool:
    return False


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch) -> str:
    """Both ways in which the new folder takes the place of the old one."""
    if request.param == "two renames":
        monkeypatch.setattr(renames, "exchange", exchange_missing)
    return request.param


def test_this_system_exchanges_folders_in_one_call(tmp_path):
    """Linux has the call: without this test the fallback could be all that the others ever run."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"was_{name}").touch()
    assert renames.exchange(tmp_path / "a", tmp_path / "b")
    assert os.listdir(tmp_path / "a") == ["was_b"] and os.listdir(tmp_path / "b") == ["was_a"]


def test_a_save_replaces_the_last_one_and_leaves_nothing_beside_it(tmp_path, way):
    for number in (1, 2, 3):
        write_checkpoint(tmp_path / "run" / "model", checkpoint(number))
        assert number_in(tmp_path / "run" / "model") == number
    assert os.listdir(tmp_path / "run") == ["model"]


def test_files_of_the_old_save_that_the_new_one_lacks_are_gone(tmp_path):
    write_checkpoint(tmp_path / "model", checkpoint(1))
    write_checkpoint(tmp_path / "model", Checkpoint(config=CONFIG, weights=checkpoint(2).weights))
    assert sorted(os.listdir(tmp_path / "model")) == ["config.json", "model.safetensors"]


def test_what_is_not_ours_is_kept(tmp_path, way):
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(1))
    (folder / "plots").mkdir()
    (folder / "plots" / "loss.png").write_bytes(b"picture")
    folder.chmod(0o750)
    with open(folder / "train.log", "w") as log:
        log.write("epoch 1\n")
        log.flush()
        write_checkpoint(folder, checkpoint(2))
        log.write("epoch 2\n")  # whoever writes it goes on writing to the same file
    assert (folder / "train.log").read_text() == "epoch 1\nepoch 2\n"
    assert (folder / "plots" / "loss.png").read_bytes() == b"picture"
    assert folder.stat().st_mode & 0o777 == 0o750
    assert number_in(folder) == 2


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_checkpoint(tmp_path / "link", checkpoint(1))
    assert (tmp_path / "link").is_symlink() and number_in(tmp_path / "real") == 1


@pytest.mark.parametrize("content", [{"notes.txt": "mine"}, {"config.json": "{}"}, {"config.json": '{"format": "other"}'}])
def test_a_folder_of_other_things_is_left_alone(tmp_path, content):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(CheckpointError, match="holds other files: nothing is written"):
        write_checkpoint(tmp_path, checkpoint(1))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == content


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(CheckpointError, match="must be a folder, but it is a file"):
        write_checkpoint(tmp_path / "model", checkpoint(1))
    with pytest.raises(CheckpointError, match="cannot be written"):
        write_checkpoint(tmp_path / "model" / "inside", checkpoint(1))
    assert (tmp_path / "model").read_text() == "mine"


def test_parts_that_do_not_fit_are_not_written(tmp_path):
    whole = checkpoint(1)
    weights = dict(list(whole.weights.items())[1:])
    with pytest.raises(CheckpointError, match=r"missing encoder\.embedding\.weight"):
        write_checkpoint(tmp_path / "model", Checkpoint(config=CONFIG, weights=weights))
    with pytest.raises(CheckpointError, match=r"trainer\.json is missing"):
        write_checkpoint(tmp_path / "model", Checkpoint(config=CONFIG, weights=whole.weights, optimizer=whole.optimizer))
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_checkpoint(small_disk, way):
    folder = small_disk / "model"
    write_checkpoint(folder, checkpoint(1))
    (small_disk / "ballast").write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize - 8192))
    with pytest.raises(CheckpointError, match=r"model cannot be written: .*No space left on device.*is unchanged") as caught:
        write_checkpoint(folder, checkpoint(2))
    assert "\n" not in str(caught.value)
    assert number_in(folder) == 1
    assert sorted(os.listdir(small_disk)) == ["ballast", "model"]
    (small_disk / "ballast").unlink()
    write_checkpoint(folder, checkpoint(3))
    assert number_in(folder) == 3


@pytest.mark.parametrize("fault", ["mkdir", "fsync", "rename", "exchange"])
def test_a_failure_at_any_point_leaves_the_old_checkpoint(tmp_path, monkeypatch, way, fault):
    """The same without a mount: the system call itself fails, the first time or a later time that it is made."""
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(1))
    module, name = (renames, "exchange") if fault == "exchange" else (os, fault)
    real = getattr(module, name)

    def failing(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for failed_call in range(3):
        calls = count()
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda *a, **o: failing() if next(calls) == failed_call else real(*a, **o))  # noqa: B023
            try:
                write_checkpoint(folder, checkpoint(2))
                expected = 2
            except CheckpointError as error:
                assert "No space left on device" in str(error)
                expected = 1
        assert number_in(folder) == expected
        assert os.listdir(tmp_path) == ["model"]
        write_checkpoint(folder, checkpoint(1))


def save_for_ever(folder: Path, saving: Event) -> None:
    # A kill loses nothing that is only not flushed, and without flushing more of the time lies in the other steps.
    os.fsync = lambda descriptor: None
    number = number_in(folder)
    while True:
        number += 1
        write_checkpoint(folder, checkpoint(number))
        saving.set()


def test_a_killed_process_leaves_a_checkpoint_that_loads(tmp_path, way):
    """Twenty kills at random moments of a process that does nothing but save."""
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(0))
    (folder / "train.log").write_text("mine")
    moments = random.Random(7)
    context = multiprocessing.get_context("fork")  # starts in a millisecond
    last = 0
    for _ in range(20):
        saving = context.Event()
        process = context.Process(target=save_for_ever, args=(folder, saving))
        process.start()
        assert saving.wait(timeout=30)
        time.sleep(moments.uniform(0, 0.04))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        number = number_in(folder)
        assert number > last
        last = number
    write_checkpoint(folder, checkpoint(last + 1))
    assert os.listdir(tmp_path) == ["model"], "the next save cleans up"
    assert set(os.listdir(folder)) == {"config.json", "model.safetensors", "optimizer.safetensors", "trainer.json", "train.log"}
    assert (folder / "train.log").read_text() == "mine"


def test_a_reader_never_sees_files_of_two_saves(tmp_path):
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(0))
    context = multiprocessing.get_context("fork")
    process = context.Process(target=save_for_ever, args=(folder, context.Event()))
    process.start()
    try:
        start, seen = time.monotonic(), []
        while len(set(seen)) < 20 and time.monotonic() < start + 30:
            seen.append(number_in(folder))
    finally:
        process.kill()
        process.join()
    assert seen == sorted(seen) and len(set(seen)) == 20


def test_the_gap_between_two_renames_is_bridged(tmp_path):
    """Killed after the first rename: the old folder is read from where it lies, and the next save puts it back."""
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(1))
    (folder / "train.log").write_text("mine")
    others = siblings(folder)
    folder.rename(others.previous)
    others.ready.mkdir()
    (others.ready / "config.json").write_text("{}")
    assert number_in(folder) == 1
    write_checkpoint(folder, checkpoint(2))
    assert number_in(folder) == 2 and (folder / "train.log").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["model", "transformer_mb.model"])
def test_folders_of_the_user_with_names_like_ours_stay(tmp_path, name, way):
    """Hidden ones beside the checkpoint, with files that a checkpoint has too; and a checkpoint with the project's name."""
    mine = [tmp_path / f".{name}.{state}" for state in ("ready", "previous")]
    for folder in mine:
        folder.mkdir()
        (folder / "model.safetensors").write_text("mine")
    for number in (1, 2):
        write_checkpoint(tmp_path / name, checkpoint(number))
        with staged(tmp_path):
            pass
    assert number_in(tmp_path / name) == 2
    assert all((folder / "model.safetensors").read_text() == "mine" for folder in mine)


def test_what_a_kill_at_the_last_save_left_goes_with_the_next_command(tmp_path):
    folder = tmp_path / "model"
    write_checkpoint(folder, checkpoint(2))
    left = siblings(folder).ready
    write_checkpoint(left, checkpoint(1))
    (left / "train.log").write_text("mine")
    check_folder(folder, resume=True, force=False)
    assert os.listdir(tmp_path) == ["model"] and (folder / "train.log").read_text() == "mine" and number_in(folder) == 2


def test_an_error_inside_the_block_writes_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), replaced_folder(tmp_path / "model", FILES) as temporary:
        (temporary / "config.json").write_text("half of it")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []
