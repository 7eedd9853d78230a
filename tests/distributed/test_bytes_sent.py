"""Bytes of a summed gradient: no process sends more of it in a step, however many there are."""

import json
import socket
from pathlib import Path

import pytest

from distributed.group import ended, free_port, start, variables

COUNT = 200_000  # numbers of float64
# Every byte over a connection, where it can be counted: UCX takes no loopback for that.
OVER_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "all", "MPIR_CVAR_NOLOCAL": "1"}


def has_a_network():
    """Tell whether this machine has an address beside the loopback; nothing is sent to the other, which is for documents."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return False
        return not one.getsockname()[0].startswith("127.")


pytestmark = pytest.mark.skipif(not has_a_network(), reason="MPI counts its bytes over a network card, and there is none")


def bytes_sent(size):
    port = free_port()
    command = [Path(__file__).with_name("counting.py"), COUNT]
    processes = [start(command, variables(rank, size, port, **OVER_TCP)) for rank in range(size)]
    said = ended(processes)
    assert not any(process.returncode for process in processes), said
    found = [json.loads(text.splitlines()[-1]) for text, _ in said]
    assert all(one["right"] for one in found)
    return [one["sent"] / (8 * COUNT) for one in found]


@pytest.mark.parametrize("size", [2, 4, pytest.param(8, marks=pytest.mark.long)])
def test_no_process_sends_twice_its_gradient(size):
    """Halving and doubling, and a ring, send 2 (N - 1) / N of it from each; the middle of a star sends N - 1 times it."""
    shares = bytes_sent(size)
    least = 2 * (size - 1) / size
    assert all(0.99 * least <= share <= 1.15 * least < 2.3 for share in shares), shares
