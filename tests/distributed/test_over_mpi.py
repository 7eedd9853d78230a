"""Gradients summed by MPI: four processes, mpiexec's, and the program at which MPICH's processes meet."""

import os
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

from distributed.group import free_port
from distributed.running import SMALL, apart, command, done
from transformer_mb.backends.numpy.distributed import NumPyProcesses
from transformer_mb.distributed import pmi
from transformer_mb.errors import BackendError

IN_FLOAT64 = f"{SMALL} --dtype float64"


@pytest.fixture(scope="module")
def alone(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "model"
    assert done(command(data, folder, IN_FLOAT64)).returncode == 0
    return folder


@pytest.mark.parametrize("backend", ["numpy", pytest.param("mxnet", marks=pytest.mark.long)])
@pytest.mark.parametrize("size", [4, pytest.param(2, marks=pytest.mark.long)])
def test_the_weights_are_those_of_one_process_and_the_same_bits_every_time(backend, size, alone, data, tmp_path):
    """15 rows of a batch are a share of 4, 4, 4 and 3; another backend's one process is the reference for MXNet's."""
    for folder in ("once", "again"):
        outcome = done([*command(data, tmp_path / folder, f"{IN_FLOAT64} --seed 0", backend), "--processes", size])
        assert outcome.returncode == 0, outcome.stderr
    if backend == "mxnet":
        assert done(command(data, tmp_path / "alone", IN_FLOAT64, "mxnet")).returncode == 0
    assert apart(tmp_path / "alone" if backend == "mxnet" else alone, tmp_path / "once") <= 1e-10
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_processes_of_mpiexec(alone, data, tmp_path):
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    arguments = [*command(data, tmp_path / "model", IN_FLOAT64), "--distributed"]
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "UCX_NET_DEVICES": "lo"}
    program = (
        f"import subprocess; raise SystemExit(subprocess.call({[mpiexec, '-n', '2', sys.executable, *map(str, arguments)]!r}))"
    )
    outcome = done(["-c", program], **environment)
    assert outcome.returncode == 0 and "--distributed" not in outcome.stderr, outcome.stderr
    assert apart(alone, tmp_path / "model") <= 1e-10


def test_without_mpi_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(BackendError, match=r"trains in several processes by MPI, which cannot be used: .*Install it with: pip"):
        NumPyProcesses._begin(NumPyProcesses.__new__(NumPyProcesses))


@pytest.fixture
def meeting():
    """A function that connects; and the thread, which is to end."""
    server = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=pmi.serve, args=(server, 2, 20.0), daemon=True)
    thread.start()
    yield lambda: socket.create_connection(server.getsockname(), timeout=10.0), thread
    server.close()


def said(peer, line):
    peer.sendall(line.encode() + b"\n")
    return peer.recv(4096).decode()


def test_two_processes_put_wait_and_get(meeting):
    """The lines are those of PMI-1 as MPICH's ``simple_pmi`` writes them."""
    connect, thread = meeting
    one, two = connect(), connect()
    for peer in (one, two):
        assert (
            said(peer, "cmd=init pmi_version=1 pmi_subversion=1")
            == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
        )
    names = {said(peer, "cmd=get_my_kvsname") for peer in (one, two)}
    assert len(names) == 1 and pmi.Meeting(2).name not in names.pop()
    assert "rc=0" in said(one, "cmd=put kvsname=training key=a value=x=1 2")
    assert "rc=-1" in said(two, "cmd=get kvsname=training key=b")
    one.sendall(b"cmd=barrier_in\n")
    assert said(two, "cmd=barrier_in") == one.recv(4096).decode() == "cmd=barrier_out rc=0\n"
    assert said(two, "cmd=get kvsname=training key=a") == "cmd=get_result rc=0 msg=success value=x=1 2\n"
    for peer in (one, two):
        assert said(peer, "cmd=finalize") == "cmd=finalize_ack rc=0\n"
    thread.join(10.0)
    assert not thread.is_alive()


def test_a_stranger_is_sent_away_and_a_process_that_goes_ends_the_meeting(meeting):
    connect, thread = meeting
    stranger, one = connect(), connect()
    assert said(stranger, "GET / HTTP/1.1") == ""
    assert "rc=0" in said(one, "cmd=init pmi_version=1 pmi_subversion=1") and thread.is_alive()
    one.close()
    thread.join(10.0)
    assert not thread.is_alive()


def test_who_ends_later_than_the_starter_is_still_answered():
    """MPICH reads before the beginning of an answer that does not come, and crashes."""
    server, (reading, writing) = socket.create_server(("127.0.0.1", 0)), os.pipe()
    with server, os.fdopen(reading) as starter:
        thread = threading.Thread(target=pmi.serve, args=(server, 2, 20.0, starter), daemon=True)
        thread.start()
        one, two = (socket.create_connection(server.getsockname(), timeout=10.0) for _ in range(2))
        for peer in (one, two):
            assert "rc=0" in said(peer, "cmd=init pmi_version=1 pmi_subversion=1")
        assert said(one, "cmd=finalize") == "cmd=finalize_ack rc=0\n"
        os.close(writing)
        thread.join(1.0)
        assert said(two, "cmd=finalize") == "cmd=finalize_ack rc=0\n"
        thread.join(10.0)
        assert not thread.is_alive()
