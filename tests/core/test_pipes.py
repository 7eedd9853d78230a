"""A pipe that a user names: it is read and written as a file is, and a wait for its other end has a word and a limit."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from transformer_mb.data import read_lines, read_pairs
from transformer_mb.errors import DataError
from transformer_mb.files import waiting
from transformer_mb.files.whole_file import write_whole
from transformer_mb.training.logs import LogPlaces, opened_logs
from transformer_mb.training.settings import read_toml


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(waiting, "LIMIT", 0.3)
    monkeypatch.setattr(waiting, "SAID_AFTER", 0.1)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def logs(pipe: Path) -> None:
    with opened_logs(LogPlaces(log=str(pipe), tensorboard=None), 0):
        pass


READ, WRITTEN = "write into", "read"
USES = {
    "lines": (lambda pipe: read_lines(pipe), READ),
    "pairs": (lambda pipe: read_pairs(pipe), READ),
    "configuration": (read_toml, READ),
    "result": (lambda pipe: write_whole(pipe, "result"), WRITTEN),
    "log": (logs, WRITTEN),
}


@pytest.mark.parametrize("use", USES)
def test_a_pipe_without_its_other_end_is_refused_after_a_word_and_a_time(
    use: str, pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, other = USES[use]
    with pytest.raises((OSError, DataError), match=f"no other process has opened to {other} it within 0.3 seconds"):
        call(pipe)
    assert f"Waiting for another process to {other} the pipe {pipe} (0.3 seconds at most)" in capsys.readouterr().err


def test_a_writer_that_has_nothing_to_say_yet_is_waited_for(pipe: Path) -> None:
    def write() -> None:
        with pipe.open("w") as file:
            late.wait(10)
            file.write("a\tb\n")

    late = threading.Event()
    writer = threading.Thread(target=write)
    timer = threading.Timer(0.8, late.set)  # after the limit
    writer.start()
    timer.start()
    assert read_lines(pipe) == ["a\tb"]
    writer.join()


def test_a_log_to_a_pipe_comes_whole_to_whoever_reads_it_to_its_end(pipe: Path) -> None:
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with opened_logs(LogPlaces(log=str(pipe), tensorboard=None, identity="0" * 16), 0) as (log,):
        log.write(3, 1, {"loss": 0.5})  # type: ignore[attr-defined]
    reader.join()
    assert '"step": 3' in read[0]
