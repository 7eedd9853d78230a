"""Several processes: their gradients are summed by MPI.

MXNet's own key-value store needs a scheduler and a server besides, and half a minute after a worker has ended it still waits
for it (measured).
"""

from __future__ import annotations

from mxnet import np as mnp

from transformer_mb.distributed import Place, Processes
from transformer_mb.distributed.over_mpi import OverMPI

from .weights import to_device


class MXNetProcesses(OverMPI):
    def reduce(self, gradients: mnp.ndarray) -> mnp.ndarray:
        """Sum one vector of all parameters, by way of the host."""
        return to_device(self.sum_vector(gradients.asnumpy()), gradients.ctx)


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return MXNetProcesses(place, shard)
