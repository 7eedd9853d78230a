"""Whole commands in processes of the other frameworks: killed, started again, continued in another framework."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distributed.group import run
from distributed.running import SMALL, command, done, endless, environment, running
from distributed.test_command import LISTENING, LOOPBACK, sockets
from transformer_mb.built_in import BUILT_IN
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.parity.verdict.limits import worst


@pytest.mark.long
@pytest.mark.parametrize("backend", ["torch", "jax", "paddle", "tensorflow", "mxnet"])
def test_a_killed_process_ends_the_others(data, tmp_path, backend):
    folder = tmp_path / "model"
    with running(folder, endless(data, folder, backend)) as training:
        os.kill(training.ranks[1], signal.SIGKILL)
        since = time.monotonic()
        status, _, error = training.ended()
    print(f"{backend}: {time.monotonic() - since:.1f} seconds")
    assert status == 1 and "Rank 1 of 2 was ended by SIGKILL" in error, error
    assert read_checkpoint(folder).trainer["step"] % 20 == 0


@pytest.mark.long
@pytest.mark.parametrize("backend", [name for name in BUILT_IN if name != "tensorflow"])
def test_a_process_that_stands_still_ends_the_others(data, tmp_path, backend):
    assert "within 20 seconds" in stopped(data, tmp_path / "model", backend, 20)


@pytest.mark.long
@pytest.mark.parametrize("timeout", [8, 100])
def test_tensorflow_may_find_a_process_that_stands_still_by_itself(data, tmp_path, timeout):
    """Its service misses a heartbeat after five to twenty seconds: either may be the first to find it after eight."""
    said = stopped(data, tmp_path / "model", "tensorflow", timeout)
    assert "rank 1 of 2 has stopped sending heartbeats" in said or (timeout == 8 and "within 8 seconds" in said)


def stopped(data, folder, backend, timeout):
    """What a training says whose rank 1 is stopped; it must end, and leave no process and a whole checkpoint."""
    with running(folder, endless(data, folder, backend), TRANSFORMER_MB_TIMEOUT=str(timeout)) as training:
        os.kill(training.ranks[1], signal.SIGSTOP)
        status, _, error = training.ended()
    assert status == 1, error
    assert "unexpected" not in error and "Rank 1 of 2 stood still, and was killed." in error, error
    assert read_checkpoint(folder).trainer["step"] % 20 == 0
    return error


@pytest.mark.long
@pytest.mark.parametrize("backend", [name for name in BUILT_IN if name != "numpy"])
def test_who_listens_outside_of_this_machine(data, tmp_path, backend):
    """Paddle's store and TensorFlow's server cannot be told an address; docs/DISTRIBUTED.md names them."""
    found = {address for address, state in sockets(data, tmp_path / "model", backend) if state == LISTENING}
    assert (found <= LOOPBACK) == (backend not in ("paddle", "tensorflow")), found


@pytest.mark.long
def test_torchrun_starts_a_training_again_and_it_ends_with_the_same_bits(data, tmp_path):
    """Three batches an epoch: it is killed at step 12 and goes on from step 10, with the framework's own dropout."""
    options = f"{SMALL.replace('--dropout 0', '--dropout 0.2').replace('--epochs 3', '--epochs 8')} --save-every-steps 5"
    whole = done([*command(data, tmp_path / "whole", options, "torch"), "--processes", 2])
    assert whole.returncode == 0, whole.stderr
    agent = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--max-restarts", "1"]
    program = Path(__file__).parent / "dying.py"
    _, _, *arguments = command(data, tmp_path / "restarted", options, "torch")
    restarted = done([*agent, program, *arguments, "--resume", "auto", "--distributed"], GLOO_SOCKET_IFNAME="lo")
    assert restarted.returncode == 0, restarted.stderr
    assert "continuing epoch 4 of 8, batch 2 of 3" in restarted.stdout
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "restarted" / name).read_bytes()


@pytest.mark.long
def test_half_by_two_processes_of_torch_and_half_by_two_of_jax(tmp_path):
    first = run("torch", tmp_path, {"first": ["interrupted", {"place": "model"}]})["first"]
    second = run("jax", tmp_path, {"second": ["resumed", {"place": "model"}]})["second"]
    assert first == [{"step": 9, "status": 130}] * 2
    assert second[0] == second[1] and worst(second[0].values()) <= 1e-10, second


@pytest.mark.long
def test_a_key_value_store_of_mxnet_waits_for_a_worker_that_has_ended(tmp_path):
    """Why MXNet's gradients go by MPI: with its own store half a minute brings nothing."""
    program = Path(__file__).parent / "key_value_store.py"
    roles = ["scheduler", "server", "worker", "worker"]
    shared = {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "9191", "DMLC_NUM_SERVER": "1", "DMLC_NUM_WORKER": "2"}
    places = [{**shared, "DMLC_ROLE": role, "DIES": str(number == 3)} for number, role in enumerate(roles)]
    processes = [
        subprocess.Popen([sys.executable, program], env=environment(**place), stdout=subprocess.PIPE, start_new_session=True)
        for place in places
    ]
    try:
        assert processes[3].wait(timeout=200) == -signal.SIGKILL
        with pytest.raises(subprocess.TimeoutExpired):
            processes[2].wait(timeout=30)
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
