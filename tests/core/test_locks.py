"""Locks in the file system: one process at a time, a wait that has an end and says for whom, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from transformer_mb.checkpoint import read_checkpoint, write_checkpoint
from transformer_mb.data import CorpusFiles, TokenCache, build_vocabularies, token_cache
from transformer_mb.errors import CheckpointError
from transformer_mb.files import waiting
from transformer_mb.files.locks import LockHeldError, locked

HOLDS = "import sys; from pathlib import Path; from transformer_mb.files.locks import locked\n"
HOLDS += "with locked(Path(sys.argv[1]), sys.argv[2]): print(flush=True); input()"


@contextmanager
def another_process(folder, name="", number=None):
    """Holds the lock until it is told to end; ``number`` is a signal that it gets."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, folder, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    if number is not None:
        process.send_signal(number)
    yield process
    process.kill()
    process.communicate()


def test_a_lock_is_waited_for_with_a_limit_and_says_for_whom(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(waiting, "SAID_AFTER", 0.05)
    with another_process(tmp_path, "model") as process:
        words = rf"process {process.pid} \(.*has the lock of .*/model, and kept it for 0.2"
        with pytest.raises(LockHeldError, match=words), locked(tmp_path, "model", limit=0.2):
            pass
        assert f"Waiting for process {process.pid}" in capsys.readouterr().err
        with locked(tmp_path, "other", limit=0), locked(tmp_path, limit=0):  # each name has its own
            pass
        process.communicate("\n")
    with locked(tmp_path, "model", limit=0):
        pass
    assert os.listdir(tmp_path) == []


def test_a_stopped_process_is_called_so_and_a_dead_one_holds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(waiting, "LIMIT", 0.2)
    stopped = another_process(tmp_path, number=signal.SIGSTOP)
    with stopped, pytest.raises(LockHeldError, match="which is stopped"), locked(tmp_path, limit=600):
        pass
    with locked(tmp_path, limit=0):
        pass
    assert os.listdir(tmp_path) == []


def test_a_save_that_waits_in_vain_says_for_whom(checkpoint, monkeypatch):
    monkeypatch.setattr(waiting, "LIMIT", 0.2)
    holder = another_process(checkpoint.parent, checkpoint.name)
    with holder as process, pytest.raises(CheckpointError, match=r"cannot be written: process \d+ .*has the lock of") as caught:
        write_checkpoint(checkpoint, read_checkpoint(checkpoint))
    assert f"process {process.pid} " in str(caught.value)


def test_a_cache_is_made_without_its_lock_in_the_end(tmp_path, data, monkeypatch):
    monkeypatch.setattr(token_cache, "LONGEST_WAIT", 0.1)
    files = CorpusFiles(data)
    with another_process(tmp_path):
        cache = TokenCache(tmp_path, files)
        assert len(cache.tokenized(build_vocabularies(files))) == 40


def test_flock_around_a_command_is_no_wait(tmp_path, data):
    """The folder that a save changes is locked by another descriptor of the shell's tool."""
    line = ["flock", tmp_path, sys.executable, "-m", "transformer_mb", "train", "--data", data, "--num-examples", "4",
            "--epochs", "1", "--num-hiddens", "8", "--out", tmp_path / "model", "--cache", tmp_path / "cache"]  # fmt: skip
    done = subprocess.run([*map(str, line)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Waiting" not in done.stderr, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["cache", "model"]
