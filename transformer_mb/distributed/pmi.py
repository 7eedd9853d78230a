"""The meeting place of MPI's processes where no ``mpiexec`` or ``srun`` has started them: the simple protocol of MPICH.

Each process has a connection, over which its MPI asks in lines of text (Balaji et al. 2010, PMI-1): it puts its address,
waits for all at a barrier, and gets the others' addresses. This file is run as a program, by rank 0: while MPI begins, no
other thread of a Python process runs.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import sys
from time import monotonic
from typing import IO

LONGEST = 1 << 20  # bytes of a line
# What does not depend on what was said before.
ANSWERS = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
    "get_appnum": "cmd=appnum appnum=0 rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}


class Meeting:
    """The state of a meeting: what has been put, who waits, and who has finished."""

    def __init__(self, size: int):
        self.size = size
        self.name = f"training-{secrets.token_hex(8)}"  # MPICH names its shared memory by it, which no other may have
        self.values: dict[str, str] = {}
        self.waiting: list[socket.socket] = []
        self.known: set[socket.socket] = set()
        self.finished: set[socket.socket] = set()

    def hear(self, peer: socket.socket, line: str) -> None:
        """Answer a line. Raises ConnectionError for one that no MPI says."""
        fields = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        command = fields.get("cmd", "")
        if command == "init" and len(self.known) < self.size:
            self.known.add(peer)
        if peer not in self.known:
            raise ConnectionError
        if command == "barrier_in":
            self.waiting.append(peer)
            if len(self.waiting) == self.size:
                for one in self.waiting:
                    one.sendall(b"cmd=barrier_out rc=0\n")
                self.waiting = []
            return
        self.finished |= {peer} if command == "finalize" else set()
        peer.sendall(f"{self._answer(command, fields, line)}\n".encode())

    def _answer(self, command: str, fields: dict[str, str], line: str) -> str:
        key = fields.get("key", "")
        if command == "put":
            self.values[key] = line.partition("value=")[2]
            return "cmd=put_result rc=0 msg=success"
        if command == "get":
            found = self.values.get(key)
            return "cmd=get_result rc=-1 msg=no_such_key" if found is None else f"cmd=get_result rc=0 msg=success value={found}"
        if command == "get_my_kvsname":
            return f"cmd=my_kvsname kvsname={self.name} rc=0"
        if command == "get_universe_size":
            return f"cmd=universe_size size={self.size} rc=0"
        return ANSWERS.get(command, "cmd=unknown rc=-1")


def serve(server: socket.socket, size: int, timeout: float, starter: IO[str] | None = None) -> None:
    """Answer ``size`` processes until all have finished, or one has gone before: then MPI must wait no longer in the others.

    Args:
        timeout: seconds in which all must have come. starter: nothing comes of it but its
            end, which ends this unless MPI has begun to end.
    """
    meeting, heard, end = Meeting(size), dict[socket.socket, bytes](), monotonic() + timeout
    selector = selectors.DefaultSelector()
    for one in (server, starter) if starter else (server,):
        selector.register(one, selectors.EVENT_READ)
    while len(meeting.finished) < size and (len(meeting.known) == size or monotonic() < end):
        for key, _ in selector.select(1.0):
            if key.fileobj is starter:
                if not meeting.finished:
                    return
                selector.unregister(starter)  # who started it has finished; a process that asks in vain would crash
                continue
            if key.fileobj is server:
                peer, _ = server.accept()
                heard[peer] = b""
                selector.register(peer, selectors.EVENT_READ)
                continue
            peer = next(one for one in heard if one is key.fileobj)
            try:
                got = peer.recv(1 << 16)
                *lines, heard[peer] = (heard[peer] + got).split(b"\n")
                if not got or len(heard[peer]) > LONGEST:
                    raise ConnectionError
                for line in lines:
                    meeting.hear(peer, line.decode("ascii", "replace"))
            except OSError:
                selector.unregister(peer)
                peer.close()
                del heard[peer]
                if peer in meeting.known and peer not in meeting.finished:
                    return


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]), sys.stdin)
