"""Gradients summed by MPI, for frameworks that bring no collectives of their own (NumPy), or none that ends (MXNet).

The processes are those of ``mpiexec`` or ``srun --mpi``, where one of them has started them; where torchrun or
``--processes`` has, MPI is told where they are as ``mpiexec`` would (``pmi``). The star stays for the numbers on which all
agree, and for noticing one that has ended, which MPI waits for.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BackendError, DistributedError
from ..extras import install_command
from . import pmi
from .star import Star

# Set by who starts the processes of an MPI: MPICH's, Slurm's and Open MPI's ways.
STARTED_BY_MPI = ("PMI_RANK", "PMI_FD", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
# Not by MPICH's own shared memory, which a small /dev/shm cannot hold; UCX has another way within a machine.
ALONE = {"MPIR_CVAR_NOLOCAL": "1"}


class OverMPI(Star):
    """Processes that MPI connects, beside the star."""

    def _begin(self) -> None:
        try:
            import mpi4py

            mpi4py.rc.finalize = False  # who has lost another process would wait for it
            if not any(name in os.environ for name in STARTED_BY_MPI):
                self._meet()
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # mpi4py itself is not there, or finds no MPI
            name = type(self).__name__.removesuffix("Processes")
            reason = " ".join(str(error).split())[:200]
            raise BackendError(
                f"{name} trains in several processes by MPI, which cannot be used: {reason}. Install it with: "
                f"{install_command('mpi')}."
            ) from None
        if MPI.COMM_WORLD.size != self.size:
            raise DistributedError(
                f"MPI must have all {self.size} processes, got {MPI.COMM_WORLD.size}: start them by the mpiexec of the MPI "
                "that is installed, or by srun --mpi."
            )
        self._mpi: Any = MPI
        self._all = MPI.COMM_WORLD.Split(0, self.rank)

    def sum_vector(self, vector: np.ndarray) -> np.ndarray:
        """Sum one vector over all processes, in its dtype: every process gets the same bits."""
        total = np.empty_like(vector)
        self._all.Allreduce(np.ascontiguousarray(vector), total)
        return total

    def _meet(self) -> None:
        """Have MPICH find the others through a program that rank 0 starts; it ends with rank 0, or with the last of them."""
        server, ((host, port), *_) = self.listen()
        with server:
            if self.rank == 0:
                number, wait = str(server.fileno()), str(self.place.timeout)
                self._meeting = subprocess.Popen(
                    [sys.executable, "-I", str(Path(pmi.__file__)), number, str(self.size), wait],
                    pass_fds=[server.fileno()],
                    stdin=subprocess.PIPE,  # which closes when this process ends
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            self.barrier()
        peer = socket.create_connection((host, port), timeout=self.place.timeout)
        peer.settimeout(None)  # MPI reads as one who waits
        number = str(peer.detach())
        os.environ.update({**ALONE, "PMI_FD": number, "PMI_RANK": str(self.rank), "PMI_SIZE": str(self.size)})

    def _end(self) -> None:
        self._all.Free()
        self._mpi.Finalize()
