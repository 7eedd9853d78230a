"""Sums over processes by plain TCP connections, each to rank 0: for the few numbers on which they agree, in every backend.

Rank 0 adds in the order of the ranks, so that the sum has the same bits however fast each of them is.

A connection is closed by the system when a process ends, whatever the way. That is how the others know, when the
framework's own collective would wait for minutes or for ever.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
import threading
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from typing import ClassVar

import numpy as np

from ..errors import BackendError, ConfigError, DistributedError
from .meeting import accept, connect, exactly
from .place import Place
from .processes import Processes

LENGTH = struct.Struct("!Q")
GRACE = 5.0  # seconds in which a process that has lost another may end by itself, in its own words
LOOK_EVERY = 1.0  # seconds between two looks at whether a step takes too long


class Star(Processes):
    """Processes connected by way of rank 0.

    Raises DistributedError, naming who did not come or has ended. BackendError, ConfigError: weights cannot be kept in parts
    with this framework, or by one process alone.
    """

    shards: ClassVar[bool] = False  # whether the framework can keep the weights in parts

    def __init__(self, place: Place, shard: bool = False):
        if shard and not self.shards:
            framework = type(self).__name__.removesuffix("Processes")
            raise BackendError(f"shard must be used with torch or jax, which keep weights in parts, got {framework}.")
        if shard and place.size == 1:
            raise ConfigError("shard must be used in several processes (--processes, --distributed), got one.")
        super().__init__(place.rank, place.size, shard)
        self.place = place
        self._leaving = False
        self._given_up = False
        self._lost = ""
        self._deadline = inf
        self._peers: dict[int, socket.socket] = accept(place) if self.rank == 0 else {0: connect(place)}
        for peer in self._peers.values():
            peer.settimeout(place.timeout)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        threading.Thread(target=self._watch, daemon=True).start()
        self._begin()

    @property
    def lost(self) -> str:
        return self._lost

    def sum(self, values: np.ndarray) -> np.ndarray:
        self._deadline = inf  # the connections have a time of their own
        array = np.asarray(values, np.float64)
        if self.rank:
            self._send(0, array)
            return self._receive(0, array)
        total = array.copy()
        for peer in self._peers:
            total += self._receive(peer, array)
        for peer in self._peers:
            self._send(peer, total)
        return total

    def listen(self) -> tuple[socket.socket, list[tuple[str, int]]]:
        """A socket that listens at a free port, for the framework's own meeting, and where those of all processes are.

        It listens at the IPv4 address at which the others reach this process, and at no other.
        """
        own = next(iter(self._peers.values())).getsockname()[0]
        server = socket.create_server((own, 0), backlog=self.size)
        rows = self.gather(np.array([*own.split("."), server.getsockname()[1]], np.float64)).astype(int).tolist()
        return server, [(".".join(map(str, address)), port) for *address, port in rows]

    def free_addresses(self) -> list[tuple[str, int]]:
        """A free port of each process, for a framework that listens by itself."""
        server, addresses = self.listen()
        server.close()
        # Before that another process's framework would be connected to this socket, and be cut off when it closes.
        self.barrier()
        return addresses

    def expect(self) -> None:
        self._deadline = monotonic() + self.place.timeout

    def leave(self, lost: bool = False) -> None:
        self._leaving, self._given_up = True, self._given_up or lost

    def close(self) -> None:
        self.leave()
        self.barrier()
        for peer in self._peers.values():
            peer.close()
        self._end()

    def _begin(self) -> None:
        """Start the framework's own collectives, where it has them."""

    def _end(self) -> None:
        """Stop them."""

    def _send(self, rank: int, array: np.ndarray) -> None:
        try:
            self._peers[rank].sendall(LENGTH.pack(array.nbytes) + np.ascontiguousarray(array).tobytes())
        except OSError as error:
            raise self._gone(rank, error) from None

    def _receive(self, rank: int, like: np.ndarray) -> np.ndarray:
        try:
            (length,) = LENGTH.unpack(exactly(self._peers[rank], LENGTH.size))
            if length != like.nbytes:
                raise DistributedError(
                    f"All processes must make the same step, but of rank {rank} came {length} bytes and not {like.nbytes}."
                )
            return np.frombuffer(exactly(self._peers[rank], length), like.dtype).reshape(like.shape)
        except OSError as error:
            raise self._gone(rank, error) from None

    def _gone(self, rank: int, error: OSError) -> DistributedError:
        how = f"did not answer within {self.place.timeout:g} seconds" if isinstance(error, TimeoutError) else "has ended"
        self._lost = f"rank {rank} of {self.size} {how}"
        self._given_up = True
        self._deadline = monotonic() + GRACE  # a framework's own end may wait for the lost process
        return DistributedError(f"{self._lost[0].upper()}{self._lost[1:]}, so that {self} cannot go on.")

    def _watch(self) -> None:
        """End this process where another one has ended, or stands still, and the framework's collective waits for it."""
        poll = select.poll()
        ranks = {peer.fileno(): rank for rank, peer in self._peers.items()}
        for number in ranks:
            poll.register(number, select.POLLRDHUP)
        while not (closed := poll.poll(1000.0 * LOOK_EVERY)) and monotonic() < self._deadline:
            pass
        if self._leaving and not self._given_up:
            return
        if closed:
            self._lost = f"rank {ranks.get(closed[0][0])} of {self.size} has ended"
            sleep(GRACE)
        else:
            self._lost = f"a step did not end within {self.place.timeout:g} seconds"
        if not self._leaving:
            with suppress(OSError, ValueError, RuntimeError):
                print(f"Error: {self} cannot go on: {self._lost}.", file=sys.stderr, flush=True)
        if self._given_up or not self._leaving:  # the end of a framework, JAX's for one, may wait for the lost process too
            os._exit(1)
