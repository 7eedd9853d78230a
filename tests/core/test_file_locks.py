"""Locks and places in the file system: one process at a time, nothing left by a signal, and paths that are none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint, write_checkpoint
from transformer_mb.cli.reporting import ended_cleanly
from transformer_mb.data import CorpusFiles, TokenCache, build_vocabularies, token_cache
from transformer_mb.errors import CheckpointError, ConfigError
from transformer_mb.files import locks, staging, unbroken, waiting, whole_file, whole_folder
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


# A signal at any moment of taking, using and giving back: no lock, no unfinished folder and no foreign handler is left.

WATCHED = {module.__file__ for module in (locks, staging, unbroken, whole_file, whole_folder)}
HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalAtLine:
    """A trace function that raises a signal before line number ``number`` that Python runs in these modules."""

    def __init__(self, number: int, ending: int):
        self.left, self.ending = number, ending

    def __call__(self, frame, event, argument):
        return self.line if frame.f_code.co_filename in WATCHED else None

    def line(self, frame, event, argument):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(self.ending)
        return self.line


def lock(folder: Path) -> None:
    with locks.locked(folder, "model"):
        pass


def stage(folder: Path) -> None:
    with staging.staged(folder) as stage:
        (stage / "half").touch()


def replaced_folder(folder: Path) -> None:
    with whole_folder.replaced_folder(folder / "model", ["weights"]) as new:
        (new / "weights").write_text("new")


def file_with_parents(folder: Path) -> None:
    with whole_file.replaced_file(folder / "above" / "model" / "weights") as file:
        file.write(b"new")


def ended_at(number: int, ending: int, work, folder: Path) -> tuple[bool, bool]:
    """Whether there is such a line, and whether the signal ended the work."""
    tracer, before = SignalAtLine(number, ending), sys.gettrace()
    try:
        with ended_cleanly():
            sys.settrace(tracer)
            try:
                work(folder)
            finally:
                sys.settrace(before)
    except (KeyboardInterrupt, SystemExit):
        return True, True
    return tracer.left <= 0, False


LONG = [pytest.param(work, marks=pytest.mark.long) for work in (replaced_folder, file_with_parents)]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("work", [lock, stage, *LONG])
def test_a_signal_at_any_line_leaves_nothing_hidden_and_is_not_lost(tmp_path, monkeypatch, work, ending):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # which takes nearly all of the time
    handlers = [signal.getsignal(one) for one in HEARD]
    for number in range(1, 5000):
        folder = tmp_path / str(number)
        folder.mkdir()
        reached, ended = ended_at(number, ending, work, folder)
        assert ended == reached, number
        assert [signal.getsignal(one) for one in HEARD] == handlers, number
        found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
        whole = {"above", "above/model", "above/model/weights"} if work is file_with_parents else {"model", "model/weights"}
        assert found in (set(), whole), number
        if not reached:
            break
    assert number > 100 and not ended


# Refuse a path that is none, or an empty name, by the name of the option that gave it.

PAIRS = [("a b", "x y"), ("b a", "y x")]
SMALL: dict[str, Any] = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 1, "epochs": 1}
PATHS = [
    "target",
    "validation_target",
    "tokenizer",
    "vocabulary",
    "target_vocabulary",
    "cache",
    "init_from",
    "log",
    "tensorboard",
]


def refused(**options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        tmb.train(PAIRS, **SMALL, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path_is_refused_and_not_taken_for_nothing(name: str) -> None:
    for wrong in (3, ["a"], True):
        assert refused(**{name: wrong}) == f"{name} must be a path, got {wrong!r}."


@pytest.mark.parametrize("name", [*PATHS, "validation"])
def test_a_path_that_no_file_can_have_is_refused_by_its_options_name(name: str) -> None:
    assert refused(**{name: ""}) == f"{name} must be a path, or left out, got ''."
    for wrong in ("a\0b", "a\ud800b"):
        assert refused(**{name: wrong}) == f"{name} must be a path of characters that a file's name may have, got {wrong!r}."


def test_a_name_is_a_string_of_some_characters() -> None:
    for name in ("preset", "backend", "device", "dtype"):
        assert refused(**{name: ""}) == f"{name} must be a name, or left out, got ''."
    for name in ("preset", "backend", "bad_lines"):
        assert refused(**{name: ["a"]}) == f"{name} must be a string, got ['a']."


def test_files_of_settings_and_checkpoints_name_no_such_places_either(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('log = "a\\u0000b"\n')
    (tmp_path / "pairs.tsv").write_text("a b\tx y\n")
    outcome = cli("train", tmp_path / "c.toml", "--data", tmp_path / "pairs.tsv", "--out", tmp_path / "m")
    assert outcome.status == 2 and "log must be a path of characters that a file's name may have" in outcome.err

    folder = tmp_path / "trained"
    tmb.train(PAIRS, folder, **SMALL)
    trainer = json.loads((folder / "trainer.json").read_text())
    del trainer["saved_with"]
    trainer["data"]["run"]["tensorboard"] = "a\0b"
    (folder / "trainer.json").write_text(json.dumps(trainer))
    with pytest.raises(ConfigError, match="tensorboard must be a path of characters"):
        tmb.train(PAIRS, folder, resume=True, epochs=2)


def test_no_command_takes_an_empty_path(cli: Any) -> None:
    for words in (("train", "--json", ""), ("train", ""), ("evaluate", "", "--data", "x"), ("compare", "runs", "--json", "")):
        outcome = cli(*words)
        assert outcome.status == 2 and "a path was expected, got ''." in outcome.err, words
