"""Interpreters that are none: they sleep, print, end or read nothing. Each is told with what it said, and none is left."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from parity.sweeps.commands import alive, family
from transformer_mb.columns.column import Column
from transformer_mb.columns.gateway import Gateway
from transformer_mb.errors import WorkerError
from transformer_mb.parity.worker import Worker

SCRIPTS = {
    "sleeps": ("sleep 600; echo", "did not answer within 1 seconds and was ended"),
    # by the time it takes to close it, what is sent to it breaks or is kept by the pipe
    "sleeps and reads nothing": ("exec sleep 600 < /dev/null", "[Errno 32] Broken pipe|did not answer within 1 seconds"),
    "closes its output": ("exec 1>&-; sleep 600; echo", "did not answer within 1 seconds and was ended"),
    "prints": ("echo Welcome to this machine; sleep 600; echo", "it printed: Welcome to this machine"),
    "prints and ends": ("echo No licence; exit 3", "it ended with status 3; it printed: No licence"),
    "complains": ("echo libssl.so.1: cannot open >&2; exit 127", "status 127; its stderr ends with: libssl.so.1: cannot open"),
    "says nothing": ("exit 1", "it ended with status 1"),
    "complains and sleeps": ("echo waiting for a lock >&2; sleep 600; echo", "its stderr ends with: waiting for a lock"),
}


@pytest.mark.parametrize("kind", SCRIPTS)
def test_an_interpreter_that_is_none_is_told_with_what_it_said(kind, interpreter, tmp_path):
    script, words = SCRIPTS[kind]
    before = set(family(os.getpid()))
    with pytest.raises(WorkerError) as caught:
        Worker(Column("numpy@x", interpreter(script)), tmp_path / "w", timeout=1.0)
    assert any(word in str(caught.value) for word in words.split("|"))
    assert str(caught.value).startswith("The worker of numpy@x ")
    assert not alive(set(family(os.getpid())) - before)


def test_an_interpreter_that_does_not_start_is_ended_with_the_run(interpreter, tmp_path):
    """Whoever is told of the process may end it long before the timeout; what it has started ends too."""
    started, said = [], []

    def attempt_it():
        try:
            Worker(Column("numpy@x", interpreter("sleep 600; echo")), tmp_path / "w", 600.0, started.append)
        except WorkerError as error:
            said.append(str(error))

    attempt = threading.Thread(target=attempt_it)
    attempt.start()
    while not started:
        time.sleep(0.01)
    started[0].kill()
    attempt.join(30)
    assert len(said) == 1


def test_a_worker_that_stands_still_takes_no_large_request_for_ever(tmp_path):
    """A pipe holds little: whoever sends more waits for the reader."""
    worker = Worker(Column("numpy"), tmp_path)
    worker.gateway.timeout = 1.0
    worker.gateway.process.send_signal(signal.SIGSTOP)
    with pytest.raises(WorkerError, match="did not answer within 1 seconds and was ended"):
        worker.gateway.send(("x", b"0" * (8 << 20)))
    worker.stop()
    assert worker.gateway.process.poll() is not None


STARTS_ANOTHER = """
import subprocess
import sys


def begin():
    return [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid], None
"""


@pytest.mark.parametrize("end", [Gateway.stop, Gateway.kill])
def test_what_a_worker_has_started_ends_with_it(end, tmp_path, monkeypatch):
    (tmp_path / "starting.py").write_text(STARTS_ANOTHER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    address = Column("numpy").address(Path(tmp_path))
    gateway = Gateway("numpy", address, "starting", (), tmp_path / "stderr", 60.0)
    other = gateway.receive()
    assert alive([other])
    end(gateway)
    until = time.monotonic() + 30
    while alive([other]) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive([other])
    gateway.stop()
