"""Workers that die, hang, lie or are not there: each is a clear failure of its own cells and of no others."""

import os
import signal
import sys

import numpy as np
import pytest

from transformer_mb.errors import WorkerError
from transformer_mb.parity.layer_cases import CASES
from transformer_mb.parity.layer_rows import layer_request
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.workers import WorkerSpec

LAYER_NORMS = Selection(cases="layer forward: layer norm*", dtypes=("float64", "float32"))


@pytest.fixture
def request_(oracle):
    return layer_request(oracle, CASES[0], "float64", 0)


def test_a_worker_computes_what_the_oracle_computes(worker, oracle, request_):
    got = worker("numpy").ask(request_)
    for name, value in oracle.exact(request_).items():
        np.testing.assert_array_equal(got[name], value)


def test_a_worker_runs_elsewhere_than_here(worker, tmp_path):
    process = worker("numpy").gateway._io.popen
    assert process.pid != os.getpid()
    assert not any((tmp_path / "numpy").iterdir())


def test_an_error_of_the_backend_leaves_the_worker_alive(worker, request_):
    started = worker("numpy")
    with pytest.raises(WorkerError, match="numpy raised KeyError: 'nonesuch'"):
        started.ask(type(request_)("nonesuch", "float64", {}))
    assert started.ask(request_)


FAULTS = {
    "killed": "was ended by signal SIGKILL. Its last words: about to be killed",
    "hanging": "did not answer within 8 s and was ended",
    "nan": "not finite",
    "misshapen": r"output must have shape [3, 4, 8], but [1, 4, 8] came",
    "greedy_for_memory": "MemoryError",
    "absent": "not_there",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_its_own_cells_and_the_rest_is_reported(fault, faulty_backends):
    outcome, _ = run_matrix([WorkerSpec("numpy"), WorkerSpec(fault)], LAYER_NORMS, patience=8.0)
    assert not outcome.holds and outcome.executed == outcome.planned == len(outcome.results)
    good = [result for result in outcome.results if result.backend == "numpy"]
    bad = [result for result in outcome.results if result.backend == fault]
    assert len(good) == len(bad) == 12 and all(result.status == "passed" for result in good)
    failed = [result for result in bad if result.status == "failed"]
    assert len(failed) >= 9 and FAULTS[fault] in failed[-1].reason


def test_a_worker_killed_from_outside_in_mid_run(worker, request_):
    started = worker("numpy")
    started.ask(request_)
    os.kill(started.gateway._io.popen.pid, signal.SIGTERM)
    with pytest.raises(WorkerError, match="The worker of numpy was ended by signal SIGTERM"):
        started.ask(request_)
    with pytest.raises(WorkerError, match="SIGTERM"):
        started.ask(request_)


def test_another_interpreter_runs_a_column_of_its_own():
    specs = [WorkerSpec("numpy"), WorkerSpec("numpy@other", python=sys.executable)]
    outcome, _ = run_matrix(specs, LAYER_NORMS)
    assert outcome.holds and set(outcome.backends) == {"numpy", "numpy@other"}


def test_an_interpreter_without_this_library_says_how_to_install_it(worker, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: without site-packages
    python.chmod(0o755)
    with pytest.raises(WorkerError, match=r"holds no transformer_mb .*pip install --editable"):
        worker("numpy@bare", python=str(python))


def test_an_interpreter_that_is_not_there(worker, tmp_path):
    with pytest.raises(WorkerError, match="The worker of numpy could not be started"):
        worker("numpy", python=str(tmp_path / "none"))


@pytest.mark.parametrize(("asked", "used"), [("cuda", "cuda:0"), ("gpu:1", "cuda:1"), (None, "cpu")])
def test_a_device_is_used_and_named(asked, used, worker, faulty_backends):
    assert worker("with_gpu", device=asked).greeting["device"] == used


def test_a_device_that_is_missing_fails(worker, faulty_backends):
    with pytest.raises(WorkerError, match=r"must be one of cpu, cuda:0, cuda:1, but 'cuda:7' came"):
        worker("with_gpu", device="cuda:7")
    with pytest.raises(WorkerError, match="must be one of cpu, but 'cuda' came"):
        worker("numpy", device="cuda")


def test_tf32_is_off_in_a_worker(worker):
    channel = worker("numpy").gateway.remote_exec("import os; channel.send(os.environ['NVIDIA_TF32_OVERRIDE'])")
    assert channel.receive(10) == "0"


def test_a_worker_on_another_host(worker, oracle, request_, tmp_path, monkeypatch):
    """With an ssh that stays on this host: what is tested is that the column starts and answers through it."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\nexec sh -c "exec $*"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    started = worker("numpy@there", ssh="there", python=sys.executable)
    np.testing.assert_array_equal(started.ask(request_)["output"], oracle.exact(request_)["output"])
    os.kill(started.gateway._io.popen.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="The worker of numpy@there was ended by signal SIGKILL"):
        started.ask(request_)
