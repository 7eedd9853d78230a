"""Several processes: an all-reduce of each group of gradients, over NCCL between GPUs and over gloo between processors.

DataParallel would divide by the number of processes, and its hooks do not see ``paddle.grad``.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Sequence

import paddle
import paddle.distributed as dist
from paddle import Tensor

from transformer_mb.distributed import Place, Processes
from transformer_mb.distributed.star import Star


class PaddleProcesses(Star):
    """A parallel environment of ``paddle.distributed``."""

    def _begin(self) -> None:
        addresses = self.free_addresses()
        endpoints = [f"{host}:{port}" for host, port in addresses]
        host, port = addresses[0]
        # All that Paddle's own launcher would say.
        os.environ |= {
            "PADDLE_TRAINER_ID": str(self.rank),
            "PADDLE_TRAINERS_NUM": str(self.size),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_CURRENT_ENDPOINT": endpoints[self.rank],
            "PADDLE_MASTER": endpoints[0],
            "MASTER_ADDR": host,
            "MASTER_PORT": str(port),
            "FLAGS_selected_gpus": str(self.place.local_rank),
            "FLAGS_stop_check_timeout": str(int(self.place.timeout)),
        }
        if not paddle.is_compiled_with_cuda():
            os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"  # else it would make no group, and say nothing
        # Rank 0 waits in there for the others without any end, and no other thread of Python runs meanwhile.
        faulthandler.dump_traceback_later(self.place.timeout, exit=True)
        dist.init_parallel_env()
        faulthandler.cancel_dump_traceback_later()

    def reduce(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Sum few vectors, in place."""
        for vector in gradients:
            dist.all_reduce(vector, op=dist.ReduceOp.SUM)
        return gradients

    def _end(self) -> None:
        dist.destroy_process_group()


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return PaddleProcesses(place, shard)
