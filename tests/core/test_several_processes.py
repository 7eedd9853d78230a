"""An error or a signal while several processes are waited for ends them all at once, not one after the other."""

import os
import signal

import pytest

from transformer_mb.columns.gateway import Gateway
from transformer_mb.columns.several import by_processes
from transformer_mb.errors import WorkerError

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
