"""Several processes: one all-reduce of all gradients in a row, over NCCL between GPUs and over gloo between processors.

DistributedDataParallel would divide by the number of processes, and reduce piece by piece while the backward runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from transformer_mb.distributed import Place, Processes
from transformer_mb.distributed.star import Star


class TorchProcesses(Star):
    """A group of processes of ``torch.distributed``."""

    shards = True

    def _begin(self) -> None:
        patience = timedelta(seconds=self.place.timeout)
        server, ((host, port), *_) = self.listen()
        # Handed over as it listens: torch's own would listen at all of the machine's addresses.
        given: dict[str, Any] = {"master_listen_fd": server.detach()} if self.rank == 0 else {}
        server.close()
        store = dist.TCPStore(host, port, self.size, self.rank == 0, patience, **given)
        if torch.cuda.is_available():
            torch.cuda.set_device(self.place.local_rank)
        engines = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(engines, store=store, rank=self.rank, world_size=self.size, timeout=patience)

    def reduce(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Sum in place."""
        vector = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(vector, dist.ReduceOp.SUM)
        pieces = vector.split([gradient.numel() for gradient in gradients])
        torch._foreach_copy_(list(gradients), [piece.view_as(g) for piece, g in zip(pieces, gradients, strict=True)])
        return gradients

    def _end(self) -> None:
        dist.destroy_process_group()


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return TorchProcesses(place, shard)
