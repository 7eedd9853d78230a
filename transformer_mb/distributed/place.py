"""The rank and the number of processes, as the environment of this process gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import DistributedError

# rank, size, rank on this machine; the first row whose rank and size are both there counts.
VARIABLES = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Paddle": ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    "MPICH": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
}
ADDRESS, PORT, TIMEOUT = "MASTER_ADDR", "MASTER_PORT", "TRANSFORMER_MB_TIMEOUT"
AGENT = "TORCHELASTIC_RUN_ID"  # torchrun itself listens at MASTER_PORT
DEFAULT_PORT = 29500  # torchrun's
DEFAULT_TIMEOUT = 300.0
MOST = 1_000_000  # processes, and devices of a machine
LONGEST = 1_000_000  # seconds; frameworks count them in milliseconds of 32 bits
PORTS = 65_535


@dataclass(frozen=True)
class Place:
    """A process's place among ``size``.

    Attributes:
        rank, local_rank: among all, and on this machine.
        address, port: where rank 0 listens.
        timeout: seconds to wait for another process, at the beginning and in every exchange.
    """

    rank: int
    size: int
    address: str
    port: int
    local_rank: int = 0
    timeout: float = DEFAULT_TIMEOUT

    def __post_init__(self) -> None:
        """Raise DistributedError for numbers that no socket takes."""
        if not 0 < self.timeout <= LONGEST:
            raise DistributedError(f"timeout must be above 0 and at most {LONGEST:,} seconds, got {self.timeout}.")
        if not 0 <= self.port <= PORTS:
            raise DistributedError(f"port must be from 0 to {PORTS}, got {self.port}.")

    @classmethod
    def of_one(cls) -> Place:
        """Return the place of a process that is alone."""
        return cls(rank=0, size=1, address="", port=0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Place:
        """Read what torchrun, Slurm, Open MPI or Paddle's launcher set; raises DistributedError for a missing number."""
        given = os.environ if environment is None else environment
        row = next((row for row in VARIABLES.values() if row[0] in given and row[1] in given), None)
        if row is None:
            rows = ", or ".join(f"{rank} and {size} ({name})" for name, (rank, size, _) in VARIABLES.items())
            halves = [(one, other) for row in VARIABLES.values() for one, other in (row[:2], row[1::-1]) if one in given]
            there = ", ".join(f"{one} without {other}" for one, other in halves) or "none of them"
            raise DistributedError(f"One of several processes must be told its rank and their number as {rows}, got {there}.")
        rank, size, local_rank = (
            _number(given, name, 1 if name == row[1] else 0, MOST, 0 if name == row[2] else None) for name in row
        )
        if not rank < size:
            raise DistributedError(f"{row[0]} must be from 0 to below {row[1]}, got {rank} and {size}.")
        if size > 1 and not given.get(ADDRESS):
            raise DistributedError(f"{ADDRESS} must be the address of rank 0's machine, got none.")
        taken = 1 if AGENT in given else 0
        port = _number(given, PORT, 1, PORTS - taken, DEFAULT_PORT) + taken
        return cls(rank, size, given.get(ADDRESS, ""), port, local_rank, timeout_of(given))


def timeout_of(given: Mapping[str, str]) -> float:
    """Seconds to wait for another process; raises DistributedError."""
    return float(_number(given, TIMEOUT, 1, LONGEST, int(DEFAULT_TIMEOUT)))


def _number(given: Mapping[str, str], name: str, least: int, most: int, default: int | None) -> int:
    text = given.get(name, "")
    if not text and default is not None:
        return default
    # Python reads no number of thousands of digits.
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise DistributedError(f"{name} must be a whole number from {least} to {most}, got {text[:40]!r}.")
    return int(text)
