"""Workers that die, hang, lie or are not there: each is a clear failure of its own cells and of no others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from transformer_mb.built_in import PLAIN_DTYPES
from transformer_mb.columns.column import Column
from transformer_mb.columns.gateway import Gateway
from transformer_mb.errors import ParityError, WorkerError
from transformer_mb.parity.computing import reference
from transformer_mb.parity.controls.requests import Control
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Plan, Selection
from transformer_mb.parity.rows.layer_cases import CASES
from transformer_mb.parity.rows.layers import layer_request
from transformer_mb.parity.rows.tokens import token_experiments

LAYER_NORMS = Selection(cases="layer forward: layer norm*", dtypes=PLAIN_DTYPES)


@pytest.fixture
def request_():
    return layer_request(CASES[0], "float64", 0)


def test_a_worker_computes_what_the_reference_computes(worker, request_):
    got = worker("numpy").ask(request_)
    for name, value in reference.answer(request_).items():
        np.testing.assert_array_equal(got[name], value)


def test_a_worker_looks_for_garbage_seldom_and_not_among_what_was_imported():
    program = """
import gc
from transformer_mb.columns.inside import serve
class Closed:
    send = print
    __iter__ = lambda self: iter(())
before = gc.get_threshold()
serve(Closed(), "transformer_mb.parity.worker", ("numpy", None))
assert gc.get_freeze_count() > 1000 and gc.get_threshold()[0] > before[0] and gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_worker_runs_elsewhere_than_here(worker, tmp_path):
    process = worker("numpy").gateway.process
    assert process.pid != os.getpid()
    assert not any((tmp_path / "numpy").iterdir())


def test_an_error_of_the_backend_leaves_the_worker_alive(worker, request_):
    started = worker("numpy")
    with pytest.raises(WorkerError, match="numpy raised KeyError: 'nonesuch'"):
        started.ask(type(request_)("nonesuch", "float64", {}))
    assert started.ask(request_)


CELLS = len(Plan(LAYER_NORMS, ["numpy"]).cells("numpy", PLAIN_DTYPES))
FAULTS = {
    "killed": "was ended by SIGKILL, as the system ends a process when memory runs out; its stderr ends with: about to be",
    "hanging": "did not answer within 8 seconds and was ended",
    "nan": "numbers that are not finite",
    "misshapen": r"output must have shape [3, 4, 8], got [1, 4, 8]",
    "greedy_for_memory": "MemoryError: Memory must hold the model and one batch",
    "absent": "not_there",
}


@pytest.mark.long(but=3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_its_own_cells_and_the_rest_is_reported(fault, faulty_backends):
    outcome, _ = run_matrix([Column("numpy"), Column(fault)], LAYER_NORMS, timeout=8.0)
    assert not outcome.holds and outcome.planned == len(outcome.results)
    # Of a worker that was never there nothing is executed, and of one that dies no cell after that.
    asked = outcome.executed - CELLS
    assert asked == 0 if fault == "absent" else 0 < asked < CELLS if fault in ("killed", "hanging") else asked == CELLS
    good = [result for result in outcome.results if result.backend == "numpy"]
    bad = [result for result in outcome.results if result.backend == fault]
    assert len(good) == len(bad) == CELLS and all(result.status == "passed" for result in good)
    failed = [result for result in bad if result.status == "failed"]
    assert len(failed) >= CELLS - 3 and FAULTS[fault] in failed[-1].reason


def test_a_worker_killed_from_outside_in_mid_run(worker, request_):
    started = worker("numpy")
    started.ask(request_)
    os.kill(started.gateway.process.pid, signal.SIGTERM)
    with pytest.raises(WorkerError, match="The worker of numpy was ended by SIGTERM"):
        started.ask(request_)
    with pytest.raises(WorkerError, match="SIGTERM"):
        started.ask(request_)


def test_another_interpreter_runs_a_column_of_its_own():
    specs = [Column("numpy"), Column("numpy@other", python=sys.executable)]
    outcome, _ = run_matrix(specs, LAYER_NORMS)
    assert outcome.holds and set(outcome.backends) == {"numpy", "numpy@other"}


def test_an_interpreter_without_this_library_says_how_to_install_it(worker, interpreter):
    python = interpreter(f'exec {sys.executable} -ES "$@"')  # without PYTHONPATH and site-packages
    with pytest.raises(WorkerError, match=r"No module named 'transformer_mb'; install it with .*pip install --editable"):
        worker("numpy@bare", python=python)


def test_an_interpreter_that_is_not_there(worker, tmp_path):
    with pytest.raises(WorkerError, match="The worker of numpy could not be started"):
        worker("numpy", python=str(tmp_path / "none"))


ANSWERS = {
    "no pair": (["only a text"], "must answer with a text and bytes, got"),
    "a number": (7, "must answer with a text and bytes, got 7"),
    "no arrays": (("", b"not safetensors"), "must answer with named arrays"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_malformed_answer_fails_that_column_alone(kind, monkeypatch):
    answer, words = ANSWERS[kind]
    reason = with_answers(monkeypatch, lambda worker, true: true if worker.greeted < 1 else answer)
    assert words in reason


GREETINGS = {
    "no JSON": "{",
    "a list": "[]",
    "a field is missing": '{"version": "1", "dtypes": [], "device": "cpu", "hardware": "", "python": "3"}',
    "another kind": '{"version": 1, "dtypes": [], "device": "cpu", "hardware": "", "python": "3", "digest": ""}',
    "an unknown dtype": '{"version": "1", "dtypes": ["float8"], "device": "cpu", "hardware": "", "python": "3", "digest": ""}',
}


@pytest.mark.parametrize("kind", GREETINGS)
def test_a_malformed_greeting_fails_that_column_alone(kind, monkeypatch):
    reason = with_answers(monkeypatch, lambda worker, true: (GREETINGS[kind], b""))
    assert "greet" in reason


def with_answers(monkeypatch, answer):
    """Two columns of NumPy, the answers of the second replaced; returns why the second failed."""
    true = Gateway.receive

    def receive(self):
        got = true(self)
        if self.name == "numpy":
            return got
        self.greeted = getattr(self, "greeted", -1) + 1
        return answer(self, got)

    monkeypatch.setattr(Gateway, "receive", receive)
    outcome, _ = run_matrix([Column("numpy"), Column("numpy@odd")], LAYER_NORMS)
    by_column = {label: {one.status for one in outcome.results if one.backend == label} for label in outcome.backends}
    assert by_column == {"numpy": {"passed"}, "numpy@odd": {"failed"}} and not outcome.holds
    return next(one.reason for one in outcome.results if one.backend == "numpy@odd")


def test_a_decode_answer_without_logits_is_caught_and_ends_nothing():
    decoding = token_experiments("float64", seed=0)[0]
    control = Control("no logits", "greedy tokens", "d2l", lambda request: request)
    searched = {name: value for name, value in decoding.expected.items() if name != "logits"}
    result = control.run(decoding, "numpy", lambda request: searched)
    assert result.caught and result.row == "greedy tokens"
    assert "logits [24, 8, 13] was expected, but it did not come" in result.reason


UNSAFE = {
    "an option for ssh": ({"label": "numpy@h", "ssh": "-oProxyCommand=touch x host"}, "The ssh of a column must match"),
    "an option behind a host": ({"label": "numpy@h", "ssh": "host -oProxyCommand=x"}, "The ssh of a column must match"),
    "another part": ({"label": "numpy@h", "ssh": "host//python=x"}, "The ssh of a column must match"),
    "a path as label": ({"label": "numpy@../../x"}, "The label of a column must match"),
    "a part in the interpreter": ({"label": "numpy@h", "python": "python//ssh=host"}, "must be a path without '//'"),
    "an option as interpreter": ({"label": "numpy@h", "python": "-c"}, "must be a path without '//'"),
}


@pytest.mark.parametrize("kind", UNSAFE)
def test_a_host_that_ssh_or_a_shell_would_take_for_more_is_refused(kind):
    options, words = UNSAFE[kind]
    with pytest.raises(ParityError, match=words):
        Column(**options)


def test_hosts_with_user_address_or_port_are_taken():
    for host in ("there", "me@there", "10.0.0.7", "me@there.example.org -p 2222", "[::1]"):
        assert Column("numpy@h", ssh=host).address(Path("/nowhere")).startswith(f"ssh={host}//id=numpy@h")


def test_an_interpreter_is_one_word_of_a_command(tmp_path):
    """Here and on another host, where a shell reads it."""
    spec = Column("numpy@h", python="/opt/my python; touch x")
    assert "//python='/opt/my python; touch x'//" in spec.address(tmp_path)
    assert Column("numpy@h", ssh="there", python="a b").address(tmp_path).endswith("//python='a b'")


@pytest.mark.parametrize(("asked", "used"), [("cuda", "cuda:0"), ("gpu:1", "cuda:1"), (None, "cpu")])
def test_a_device_is_used_and_named(asked, used, worker, faulty_backends):
    assert worker("with_gpu", device=asked).greeting["device"] == used


def test_a_device_that_is_missing_fails(worker, faulty_backends):
    with pytest.raises(WorkerError, match=r"must be one of cpu, cuda:0, cuda:1, got 'cuda:7'"):
        worker("with_gpu", device="cuda:7")
    with pytest.raises(WorkerError, match="must be one of cpu, got 'cuda'"):
        worker("numpy", device="cuda")


def test_tf32_is_off_in_a_worker_also_where_the_environment_has_it_on(worker, monkeypatch):
    """As in NVIDIA's containers."""
    monkeypatch.setenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")
    precision = "import torch; {}(torch.get_float32_matmul_precision())"
    outside = subprocess.run([sys.executable, "-c", precision.format("print")], capture_output=True, text=True)
    assert outside.stdout.strip() == "high"
    channel = worker("torch").gateway.connection.remote_exec(precision.format("channel.send"))
    assert channel.receive(60) == "highest"


def test_a_worker_on_another_host(worker, request_, tmp_path, monkeypatch):
    """With an ssh that stays on this host: what is tested is that the column starts and answers through it."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\nexec sh -c "exec $*"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    started = worker("numpy@there", ssh="there", python=sys.executable)
    np.testing.assert_array_equal(started.ask(request_)["output"], reference.answer(request_)["output"])
    os.kill(started.gateway.process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="The worker of numpy@there was ended by SIGKILL"):
        started.ask(request_)
