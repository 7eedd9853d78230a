"""The meeting of a training's processes: rank 0 listens, the others come, and no process waits past the time there is.

Anything may find an open port. What does not say at once that it is a rank is sent away, however many or slow such callers are.
"""

from __future__ import annotations

import errno
import queue
import selectors
import socket
import struct
import sys
import threading
from math import inf
from time import monotonic, sleep
from typing import Any

from ..errors import DistributedError
from .place import ADDRESS, Place

HELLO = struct.Struct("!8sII")  # a mark, rank and size
MARK = b"tmb-sum1"
HELLO_TIMEOUT = 5.0  # seconds for a connection to say which rank it is
STRANGERS = 64  # connections that have not said it yet, beside those of all ranks
NAME_TIMEOUT = 10.0  # seconds for a name server to know the name of rank 0's own machine
PAUSE = 0.1  # between two attempts to reach rank 0


def accept(place: Place) -> dict[int, socket.socket]:
    """Accept, on rank 0, a connection from each other rank. Raises DistributedError, naming who did not come."""
    end = monotonic() + place.timeout
    with _listen(place, end) as server, _Door(place, server) as door:
        while len(door.known) < place.size - 1:
            if monotonic() >= end:
                absent = ", ".join(str(rank) for rank in range(1, place.size) if rank not in door.known)
                raise DistributedError(
                    f"All {place.size} processes must come to {place.address}:{place.port} within {place.timeout:g} "
                    f"seconds, but these ranks did not: {absent}."
                )
            door.look(end)
        peers = door.handed_over()
    for rank, peer in peers.items():
        try:
            peer.settimeout(place.timeout)
            peer.sendall(MARK)
        except OSError:
            raise DistributedError(f"Rank {rank} of {place.size} has ended before all were there.") from None
    return peers


def connect(place: Place) -> socket.socket:
    """Connect, on all other ranks, to rank 0, once all are there. Raises DistributedError."""
    end = monotonic() + place.timeout
    while True:
        try:
            for address in addresses(place, end):
                peer = socket.create_connection((address, place.port), timeout=_left(end))
                if _is_rank_0(peer, place, end):
                    return peer
            reason = "another service answers there"
        except OSError as error:
            reason = error.strerror or str(error)
        if monotonic() + PAUSE >= end:
            raise DistributedError(
                f"Rank 0 must answer at {place.address}:{place.port} within {place.timeout:g} seconds, as soon as all "
                f"{place.size} processes are there, but: {reason}."
            )
        sleep(PAUSE)


def exactly(peer: socket.socket, count: int, end: float = inf) -> bytearray:
    """Receive ``count`` bytes. Raises ConnectionError where the other side closes before, TimeoutError after ``end``.

    Args:
        end: when the last of them must be there; without it each may take the time of the connection.
    """
    received = bytearray(count)
    view: Any = memoryview(received)
    while view:
        if end < inf:
            peer.settimeout(_left(end))
        got = peer.recv_into(view)
        if not got:
            raise ConnectionResetError("the connection was closed")
        view = view[got:]
    return received


def addresses(place: Place, end: float) -> list[str]:
    """Resolve the name of rank 0's machine. Raises OSError where no name server tells it in time.

    A thread asks, for the system may wait longer than there is time.
    """
    answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(place.address, place.port, socket.AF_INET, socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(one[4][0]) for one in found)))
        except OSError as error:
            answers.put(error)
        except UnicodeError:  # a label of more than 63 characters, or an empty one
            answers.put(OSError(errno.EINVAL, "it is no name of a machine"))

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=_left(end))
    except queue.Empty:
        raise TimeoutError(errno.ETIMEDOUT, "no name server has answered") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


class _Door:
    """Takes in connections until each rank has one; a rank whose process has ended may come again, as another process."""

    def __init__(self, place: Place, server: socket.socket):
        self.place, self.server = place, server
        self.known: dict[int, socket.socket] = {}
        self.strangers: dict[socket.socket, tuple[bytearray, float]] = {}  # what they have said, and until when they may
        self.selector = selectors.DefaultSelector()
        server.setblocking(False)
        self.selector.register(server, selectors.EVENT_READ)

    def __enter__(self) -> _Door:
        return self

    def __exit__(self, *_: object) -> None:
        for peer in (*self.known.values(), *self.strangers):
            peer.close()
        self.selector.close()

    def handed_over(self) -> dict[int, socket.socket]:
        """Return the connections by rank, in their order; they are the caller's from here on."""
        peers, self.known = dict(sorted(self.known.items())), {}
        return peers

    def look(self, end: float) -> None:
        """Wait for something to happen, or until ``end``. Raises DistributedError for two processes of one rank."""
        until = sorted([end, *(late for _, late in self.strangers.values())])[0]
        ready: list[Any] = [key.fileobj for key, _ in self.selector.select(max(0.0, until - monotonic()))]
        # A rank says nothing before it is answered: its connection can be read once its process has ended. That is seen
        # first, for the next process of that rank may be there already.
        for rank in [rank for rank, peer in self.known.items() if peer in ready]:
            self._send_away(self.known.pop(rank))
        for peer in [peer for peer in self.strangers if peer in ready]:
            self._hear(peer)
        for peer in [peer for peer, (_, late) in self.strangers.items() if monotonic() > late]:
            self._send_away(peer)
        if self.server in ready:
            self._open()

    def _open(self) -> None:
        try:
            peer, _ = self.server.accept()
        except OSError:  # it has left already
            return
        if len(self.strangers) >= STRANGERS + self.place.size:
            self._send_away(next(iter(self.strangers)))
        peer.setblocking(False)
        self.strangers[peer] = bytearray(), monotonic() + HELLO_TIMEOUT
        self.selector.register(peer, selectors.EVENT_READ)

    def _send_away(self, peer: socket.socket) -> None:
        self.strangers.pop(peer, None)
        self.selector.unregister(peer)
        peer.close()

    def _hear(self, peer: socket.socket) -> None:
        said, _ = self.strangers[peer]
        try:
            got = peer.recv(HELLO.size - len(said))
        except OSError:
            got = b""
        said += got
        if not got or not said.startswith(MARK[: len(said)]):
            self._send_away(peer)
        elif len(said) == HELLO.size:
            _, rank, size = HELLO.unpack(said)
            if size != self.place.size or not 0 < rank < size or rank in self.known:
                raise DistributedError(
                    f"Each of {self.place.size} processes must have a rank of its own, but one came as rank {rank} of {size}."
                )
            del self.strangers[peer]
            self.known[rank] = peer


def _listen(place: Place, end: float) -> socket.socket:
    """Listen at the address where it is this machine's own; else, as for a name of several machines, everywhere."""
    for address in (*_own_addresses(place, min(end, monotonic() + NAME_TIMEOUT)), ""):
        try:
            server = socket.create_server((address, place.port), backlog=socket.SOMAXCONN)
        except OSError as error:
            if address and error.errno == errno.EADDRNOTAVAIL:
                continue
            raise DistributedError(
                f"Rank 0 must be able to listen at {place.address}:{place.port}, but: {error.strerror}."
            ) from None
        if not address:
            print(
                f"Note: {ADDRESS}, {place.address}, is no address of rank 0's machine, which listens at all of its own.",
                file=sys.stderr,
                flush=True,
            )
        return server
    raise AssertionError


def _own_addresses(place: Place, end: float) -> list[str]:
    """Resolve rank 0's own machine, whose name may become known while a cluster starts."""
    while True:
        try:
            return addresses(place, end)
        except OSError as error:
            if monotonic() + PAUSE >= end:
                raise DistributedError(
                    f"{ADDRESS} must be an IPv4 address, or a name that a name server knows, got {place.address!r}: "
                    f"{error.strerror or error}."
                ) from None
        sleep(PAUSE)


def _is_rank_0(peer: socket.socket, place: Place, end: float) -> bool:
    """Tell whether the other side answers as rank 0 does; the connection is closed where it does not."""
    answer = bytearray()
    try:
        peer.sendall(HELLO.pack(MARK, place.rank, place.size))
        answer = exactly(peer, len(MARK), end)
    finally:
        if answer != MARK:
            peer.close()
    return answer == MARK


def _left(end: float) -> float:
    return max(0.01, end - monotonic())
