"""Processes of their own: one call in each, several at once, pipes, and several frameworks in one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from transformer_mb.columns.ending import ending
from transformer_mb.columns.gateway import Gateway, by_processes
from transformer_mb.columns.one_shot import call
from transformer_mb.data import read_lines, read_pairs
from transformer_mb.errors import ConfigError, DataError, WorkerError
from transformer_mb.files import waiting
from transformer_mb.files.whole_file import write_whole
from transformer_mb.training.logs import LogPlaces, opened_logs
from transformer_mb.training.settings import read_toml

HERE = Path(__file__)


def turned(arrays, facts):
    """Arrays that lie in another order than they read, and what the process was told."""
    return {name: array.T for name, array in arrays.items()}, {**facts, "process": os.getpid(), "folder": os.getcwd()}


def refusing(arrays, facts):
    raise ConfigError("It must be so, got that.")


def unreadable(arrays, facts):
    Path("/none/at/all").read_text()


def broken(arrays, facts):
    sys.stderr.write("one\ntwo\n")
    os._exit(3)


def killed(arrays, facts):
    os.kill(os.getpid(), signal.SIGKILL)


def silent(arrays, facts):
    os._exit(0)


def hanging(arrays, facts):
    time.sleep(60)


def run(function, arrays=None, **options):
    path = f"{HERE.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    facts = {"numbers": [1, 2.5, None]}
    return call(f"{HERE.stem}:{function.__name__}", arrays or {}, facts, name="it", environment={"PYTHONPATH": path}, **options)


def test_arrays_and_facts_go_there_and_come_back():
    arrays = {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": np.array(0.5)}
    answers, facts = run(turned, arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(answers[name], array.T)
    assert facts["numbers"] == [1, 2.5, None] and facts["process"] != os.getpid() and not Path(facts["folder"]).exists()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (refusing, "It must be so, got that."),
        (unreadable, "it: No such file or directory."),
        (broken, "The process of it ended with status 3; its stderr ends with: two."),
        (killed, "The process of it was ended by SIGKILL, as the system ends a process when memory runs out."),
        (silent, "The process of it ended with status 0, without an answer."),
        (hanging, "The process of it did not answer within 2 seconds and was ended."),
    ],
)
def test_what_goes_wrong_is_told(function, words):
    with pytest.raises(WorkerError) as caught:
        run(function, timeout=2.0 if function is hanging else 60.0)
    assert str(caught.value) == words


def test_it_ends_with_the_process_that_waits_for_it(tmp_path):
    marker = tmp_path / "began"
    code = f"""
import os
from transformer_mb.columns.one_shot import call
os.environ["PYTHONPATH"] = {str(tmp_path)!r}
call("waiting:wait", {{}}, {{}}, name="it")
"""
    (tmp_path / "waiting.py").write_text(f"""
import os, time
from pathlib import Path
def wait(arrays, facts):
    Path({str(marker)!r}).write_text(str(os.getpid()))
    time.sleep(60)
""")
    process = subprocess.Popen([sys.executable, "-c", code])
    end = time.monotonic() + 30
    while not (marker.exists() and marker.read_text()):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    child = Path("/proc", marker.read_text(), "stat")
    while child.exists() and child.read_text().split()[2] != "Z":
        assert time.monotonic() < end, "it goes on alone"
        time.sleep(0.05)


def test_every_ending_has_words():
    assert ending(None) == "ended" and ending(-35) == "was ended by signal 35"
    assert ending(-11, "a\nb\n\n", 2) == "was ended by SIGSEGV; its stderr ends with: a | b"
    assert "the file is damaged" in ending(-signal.SIGXCPU)


# An error or a signal while several processes are waited for ends them all at once, not one after the other.

SLEEPS = "import time\n\ndef begin():\n    return ['begun'], lambda request: time.sleep(600)\n"
LATE = 60.0  # seconds, which nobody waits for


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A function: the error of asking two processes that never answer, and what became of them, by a word to the second."""
    (tmp_path / "sleeping.py").write_text(SLEEPS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))

    def ask(kind, then):
        made = []

        def work(name, began):
            gateway = Gateway(name, "popen", "sleeping", (), None, LATE, on_process=began)
            made.append(gateway)
            try:
                gateway.receive()
                gateway.send(None)
                if name == "second":
                    then()
                gateway.receive()
            finally:
                gateway.stop()

        with pytest.raises(kind) as error:
            by_processes(work, ["first", "second", *["never begun"] * 20 * (os.cpu_count() or 1)])
        return error.value, made

    return ask


def test_ctrl_c_ends_all_processes_at_once(asked):
    _, made = asked(KeyboardInterrupt, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert made and not any(gateway.late for gateway in made)
    assert all(gateway.process.poll() is not None for gateway in made)
    assert len(made) < 20


def test_an_error_of_one_is_raised_while_another_works(asked):
    def fail():
        raise WorkerError("The worker of second has ended.")

    error, made = asked(WorkerError, fail)
    assert str(error) == "The worker of second has ended." and not any(gateway.late for gateway in made)


# A pipe that a user names: it is read and written as a file is, and a wait for its other end has a word and a limit.


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
