"""``train --processes`` and ``--distributed``: what is printed and saved, and what is left when a process ends."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from distributed.group import ended, free_port, start, variables
from distributed.running import ENDS_WITHIN, alive, apart, command, done, endless, environment, running
from transformer_mb.checkpoint import read_checkpoint


def test_two_processes_train_and_say_what_one_does(data, tmp_path):
    one, two = (done([*command(data, tmp_path / name), "--dtype", "float64", *more]) for name, more in
                (("one", []), ("two", ["--processes", 2])))  # fmt: skip
    assert one.returncode == two.returncode == 0, (one.stderr, two.stderr)
    assert apart(tmp_path / "one", tmp_path / "two") <= 1e-10
    assert sorted(os.listdir(tmp_path / "one")) == sorted(os.listdir(tmp_path / "two"))
    lines, others = one.stdout.splitlines(), two.stdout.splitlines()
    assert lines[:3] == others[:3] and others[3] == f"{lines[3]} in 2 processes" and len(lines) == len(others)
    assert two.stderr.count("epoch 3/3") == 1


def test_a_wrong_call_is_told_once(data, tmp_path):
    said = done([*command(data, tmp_path / "model"), "--processes", 2, "--schedule", "nonesuch"])
    assert said.returncode == 2 and said.stdout == "" and said.stderr.count("Error:") == 1
    assert "rank 0 of 2: schedule must be one of" in said.stderr


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_ends_the_others_and_leaves_a_whole_checkpoint(data, tmp_path, killed):
    folder = tmp_path / "model"
    with running(folder, endless(data, folder)) as training:
        assert sorted(training.ranks) == [0, 1]
        os.kill(training.ranks[killed], signal.SIGKILL)
        status, _, error = training.ended()
    assert status == 1 and f"Rank {killed} of 2 was ended by SIGKILL" in error
    checkpoint = read_checkpoint(folder)
    assert checkpoint.trainer["step"] % 20 == 0 and int(checkpoint.optimizer["step"]) == checkpoint.trainer["step"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_one_checkpoint(data, tmp_path, number, status):
    folder = tmp_path / "model"
    with running(folder, endless(data, folder)) as training:
        training.process.send_signal(number)
        found, _, error = training.ended()
    assert found == status, error
    step = read_checkpoint(folder).trainer["step"]
    assert f"Interrupted after step {step} " in error and error.count("continues exactly there") == 1
    assert "Error" not in error and os.listdir(tmp_path) == ["model"]


def test_a_launcher_that_is_killed_leaves_no_process(data, tmp_path):
    with running(tmp_path / "model", endless(data, tmp_path / "model")) as training:
        training.process.kill()
        training.process.wait()
        end, ranks = time.monotonic() + 10, training.ranks.values()
        while alive(ranks) and time.monotonic() < end:
            time.sleep(0.05)
        assert len(ranks) == 2 and not alive(ranks)


def test_two_shells_with_plain_variables(data, tmp_path):
    port = free_port()
    arguments = [*command(data, tmp_path / "two"), "--dtype", "float64", "--distributed"]
    shells = [start(arguments, variables(rank, 2, port)) for rank in range(2)]
    (out, _), (other, silence) = ended(shells)
    assert [shell.returncode for shell in shells] == [0, 0] and "saved in" in out and other == silence == ""
    assert done([*command(data, tmp_path / "one"), "--dtype", "float64"]).returncode == 0
    assert apart(tmp_path / "one", tmp_path / "two") <= 1e-10


def test_a_process_that_does_not_come_is_named_with_the_place(data, tmp_path):
    port = free_port()
    arguments = [*command(data, tmp_path / "model"), "--distributed"]
    shells = [start(arguments, variables(rank, 3, port, TRANSFORMER_MB_TIMEOUT=4)) for rank in range(2)]
    (_, error), (_, other) = ended(shells, ENDS_WITHIN)
    assert [shell.returncode for shell in shells] == [1, 1]
    # On a busy machine rank 1 may be late as well.
    words = f"All 3 processes must come to 127.0.0.1:{port} within 4 seconds, but these ranks did not: "
    assert f"{words}2." in error or f"{words}1, 2." in error
    assert f"Rank 0 must answer at 127.0.0.1:{port} within 4 seconds" in other and "rank 1 of 3" in other


def test_processes_with_other_data_are_refused(data, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text(data.read_text(encoding="utf-8").replace("you", "me"), encoding="utf-8")
    port = free_port()
    shells = [
        start([*command(given, tmp_path / "model"), "--distributed"], variables(rank, 2, port))
        for rank, given in enumerate((data, other))
    ]
    for _, error in ended(shells):
        assert "All processes must begin with the same recipe, model and data, but rank 1 of 2 has others than rank" in error
    assert [shell.returncode for shell in shells] == [1, 1] and not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "RANK and WORLD_SIZE (torchrun), or PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM (Paddle), or"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK must be from 0 to below WORLD_SIZE, got 2 and 2"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK must be a whole number from 0 to 1000000, got 'one'"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "MASTER_ADDR must be the address of rank 0's machine, got none"),
    ],
)
def test_variables_that_do_not_say_which_process_it_is(data, tmp_path, given, words):
    said = done([*command(data, tmp_path / "model"), "--distributed"], **given)
    assert said.returncode == 1 and words in said.stderr and said.stderr.count("\n") == 1


def test_as_many_processes_as_the_command_says(data, tmp_path):
    given = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    said = done([*command(data, tmp_path / "model"), "--distributed", "--processes", 3], **given)
    assert said.returncode == 2 and "processes must be how many are started with --distributed, 2, got 3" in said.stderr
    assert done([*command(data, tmp_path / "model"), "--distributed"], RANK="0", WORLD_SIZE="1").returncode == 0  # of one


def test_a_stranger_at_the_port_is_sent_away(data, tmp_path):
    port = free_port()
    arguments = [*command(data, tmp_path / "model"), "--distributed"]
    shells = [start(arguments, variables(0, 2, port))]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
                assert stranger.recv(1) == b""
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
        except ConnectionResetError:  # closed with words unread
            break
    shells.append(start(arguments, variables(1, 2, port)))
    said = ended(shells)
    assert [shell.returncode for shell in shells] == [0, 0], said


def test_nothing_listens_outside_of_this_machine(data, tmp_path):
    found = {address for address, _ in sockets(data, tmp_path / "model", "numpy")}
    assert found and found <= LOOPBACK


# As the kernel writes 127.0.0.1, the same among addresses of version 6, and the state of a socket.
LOOPBACK, LISTENING = {"0100007F", "0000000000000000FFFF00000100007F"}, "0A"


def sockets(data, folder, backend):
    """The own address and the state of every TCP socket of two processes that train."""
    with running(folder, endless(data, folder, backend)) as training:
        links = [link for child in training.ranks.values() for link in Path(f"/proc/{child}/fd").iterdir()]
        inodes = {os.readlink(link) for link in links}
        tables = [Path(f"/proc/net/{table}").read_text().splitlines()[1:] for table in ("tcp", "tcp6")]
        lines = [line.split() for table in tables for line in table]
        return [(line[1].rpartition(":")[0], line[3]) for line in lines if f"socket:[{line[9]}]" in inodes]


WAITS = """
import sys, time
import numpy as np
from transformer_mb.backends.numpy.distributed import join
from transformer_mb.distributed import Place
from transformer_mb.errors import DistributedError
rank, port = map(int, sys.argv[1:])
processes = join(Place(rank, 2, "127.0.0.1", port, timeout=1.0))
if rank == 0:
    try:
        processes.sum(np.ones(1))
    except DistributedError as error:
        print(error, flush=True)
        processes.leave()
time.sleep(100)
"""


@pytest.mark.long
def test_a_process_whose_end_waits_for_a_lost_one_is_ended(tmp_path):
    """As that of JAX does, when the other stands still in an exchange: here rank 1 never comes to it, and rank 0 sleeps."""
    port, since = free_port(), time.monotonic()
    first, second = (start(["-c", WAITS, rank, port], environment()) for rank in (0, 1))
    try:
        ((said, _),) = ended([first], 30)
    finally:
        ended([second], 0.1)
    assert first.returncode == 1 and time.monotonic() - since < 30
    assert said == "Rank 1 of 2 did not answer within 1 seconds, so that rank 0 of 2 cannot go on.\n"
