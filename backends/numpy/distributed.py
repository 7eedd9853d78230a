"""Several processes: their gradients are summed by MPI, since NumPy brings no collectives of its own."""

from __future__ import annotations

import numpy as np

from transformer_mb.distributed import Place, Processes
from transformer_mb.distributed.over_mpi import OverMPI


class NumPyProcesses(OverMPI):
    def reduce(self, gradients: np.ndarray) -> np.ndarray:
        """Sum all gradients in a row, in their own dtype."""
        return self.sum_vector(gradients)


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return NumPyProcesses(place, shard)
