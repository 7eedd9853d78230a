"""Several processes: a step that every worker runs, with one all-reduce of its gradients inside, over RING or NCCL.

Not by way of Keras, which since its version 3 has no training by several workers of TensorFlow: a strategy, and the
variables of each worker as they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from transformer_mb.distributed import Place, Processes
from transformer_mb.distributed.star import Star

SILENT = re.compile(r"stopped sending heartbeats\):\s*\S*?/task:(\d+)")


class TensorFlowProcesses(Star):
    """Workers of one ``MultiWorkerMirroredStrategy``."""

    def _begin(self) -> None:
        addresses = self.free_addresses()
        workers = {"worker": [f"{host}:{port}" for host, port in addresses]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": workers, "task": {"type": "worker", "index": self.rank}})
        communication = tf.distribute.experimental
        engine = communication.CommunicationImplementation
        options = communication.CommunicationOptions(
            timeout_seconds=self.place.timeout,
            implementation=engine.NCCL if tf.config.list_physical_devices("GPU") else engine.RING,
        )
        self._strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    def blamed(self, error: Exception) -> str:
        """A process that stands still: TensorFlow's own service may find it before a step has taken too long."""
        silent = SILENT.search(str(error)) if isinstance(error, tf.errors.OpError) else None
        return f"rank {silent[1]} of {self.size} has stopped sending heartbeats" if silent else ""

    def compiled(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A step of all workers, in which ``reduce`` can be called."""

        def together(*arguments: Any) -> Any:
            return self._strategy.run(step, args=arguments)

        return tf.function(together, autograph=False, reduce_retracing=True)

    def reduce(self, gradients: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
        """Inside a step that is compiled for all workers."""
        return tf.distribute.get_replica_context().all_reduce("sum", gradients)


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return TensorFlowProcesses(place, shard)
