"""Calls in a process of their own: what comes back, and the words for what does not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from transformer_mb.columns.ending import ending
from transformer_mb.columns.one_shot import call
from transformer_mb.errors import ConfigError, WorkerError

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
