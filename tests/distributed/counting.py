"""One of several processes of NumPy's backend: sums a gradient, and counts the bytes that its own connections sent for it."""

import json
import os
import socket
import struct
import sys

import numpy as np

from transformer_mb.distributed import Place
from transformer_mb.registry import join_processes

STEPS = 4
ACKNOWLEDGED = struct.Struct("=Q"), 120  # linux/tcp.h: tcpi_bytes_acked of struct tcp_info


def sent():
    """The bytes that the other ends have of this process, over all its TCP connections."""
    packed, place = ACKNOWLEDGED
    total = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(number))) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                    told = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    total += packed.unpack_from(told, place)[0]
        except OSError:  # no socket, or closed meanwhile
            continue
    return total


def main(count):
    processes = join_processes("numpy", Place.from_environment())
    gradient = np.arange(count, dtype=np.float64) + processes.rank
    processes.reduce(gradient)  # connections are made at the first
    processes.barrier()
    before = sent()
    for _ in range(STEPS):
        total = processes.reduce(gradient)
    processes.barrier()  # so that what was sent has come
    right = bool((total == processes.size * np.arange(count) + sum(range(processes.size))).all())
    print(json.dumps({"sent": (sent() - before) / STEPS, "right": right}), flush=True)
    processes.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
