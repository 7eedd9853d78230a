"""A signal at any moment of taking, using and giving back: no lock, no unfinished folder and no foreign handler is left."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from transformer_mb.cli.termination import ended_cleanly
from transformer_mb.files import locks, made_parents, staging, unbroken, whole_file, whole_folder

WATCHED = {module.__file__ for module in (locks, made_parents, staging, unbroken, whole_file, whole_folder)}
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
