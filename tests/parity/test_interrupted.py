"""The matrix while it runs, and when it is ended before its end."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

from transformer_mb.cli.commands.parity.screen import Progress
from transformer_mb.parity.cells import Cell, Result


def run_until(line, arguments, tmp_path):
    """A run in a process group of its own, once a line of its standard error begins with these words."""
    files = [word for kind in ("json", "junit", "report") for word in (f"--{kind}", str(tmp_path / kind))]
    command = [sys.executable, "-m", "transformer_mb", "parity", *arguments, *files]
    with open(tmp_path / "out", "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for told in process.stderr:
        if told.startswith(line):
            return process
    raise AssertionError(f"it never said {line!r}")


def nobody_is_left(group):
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


ENDINGS = {"Ctrl-C": (os.killpg, signal.SIGINT, 130), "SIGTERM to the group": (os.killpg, signal.SIGTERM, 143)}


@pytest.mark.parametrize("how", ENDINGS)
def test_an_interrupted_run_keeps_what_was_measured(how, tmp_path, faulty_backends):
    """Beside a worker that hangs, which takes the 600 seconds of its timeout."""
    send, number, status = ENDINGS[how]
    cases = ("--backends", "numpy,hanging", "--cases", "layer forward: ffn relu*", "--dtype", "float64", "--jobs", "2")
    process = run_until("numpy: 1 cell", cases, tmp_path)
    began = time.monotonic()
    send(process.pid, number)
    assert process.wait(30) == status and time.monotonic() - began < 5.0  # measured: 0.2 s to 0.6 s
    assert nobody_is_left(process.pid)
    words = f"Interrupted by {number.name} after 1 of 2 cells"
    run = json.loads((tmp_path / "json").read_text())
    assert run["interrupted"] == words and (run["passed"], run["failed"]) == (1, 0)
    suite = ElementTree.parse(tmp_path / "junit").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert next(suite.iter("error")).get("message") == words
    assert words in (tmp_path / "report" / "matrix.md").read_text()
    said = (tmp_path / "out").read_text()
    assert words in said and "1 of 2 cells executed: 1 passed, 0 failed" in said and "layer forward" in said


def test_what_numpy_is_computing_here_is_not_waited_for(tmp_path):
    """The reference's trainings, of several seconds each; told to the parent alone."""
    process = run_until("1 cell in numpy", ("--backends", "numpy", "--cases", "free-running: *64]"), tmp_path)
    time.sleep(1.0)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130 and time.monotonic() - began < 3.0
    assert nobody_is_left(process.pid)
    assert json.loads((tmp_path / "json").read_text())["interrupted"] == "Interrupted by SIGINT after 0 of 1 cell"


def results(label, count):
    cell = Cell("layer forward", "x", "float64")
    return [Result(*cell, label, "failed" if number == 0 else "passed", "") for number in range(count)]


def test_in_a_pipe_a_run_says_how_it_goes(capsys):
    with Progress() as progress:
        progress.planned({"numpy": 1000, "torch": 662})
        for result in results("numpy", 40):
            progress.result(result)
        progress.told -= 60.0
        progress.result(results("torch", 1)[0])
        progress.column_ends("numpy")
    progress.column_ends("torch")
    assert capsys.readouterr().err.splitlines() == [
        "1,662 cells in numpy, torch",
        "41 of 1,662 cells, 2 failed, 0 s; torch: layer forward: x [float64]",
        "numpy: 40 cells, 1 failed; in all 41 of 1,662 cells, 2 failed, 0 s",
    ]


def test_on_a_terminal_a_run_shows_its_total():
    class Status:
        def update(self, text):
            self.text = text.plain

        def stop(self):
            pass

        start = stop

    progress = Progress()
    progress.status = Status()
    with progress:
        progress.planned({"numpy": 1000})
        progress.result(results("numpy", 2)[1])
    assert progress.status.text == "1 of 1,000 cells, 0 failed, 0 s; numpy: layer forward: x [float64]"
