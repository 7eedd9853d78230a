"""Several processes, or one with several devices: one program over a mesh of them (``sharding``)."""

from __future__ import annotations

from typing import Any

import jax

from transformer_mb.distributed import Alone, Place, Processes
from transformer_mb.distributed.star import Star
from transformer_mb.errors import BackendError, ConfigError

from .sharding import DeviceMesh


class JAXProcesses(Star):
    """Processes that ``jax.distributed`` connects, one device of each."""

    shards = True

    def _begin(self) -> None:
        (host, port), *_ = self.free_addresses()
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        address = f"{host}:{port}"
        options: dict[str, Any] = {"initialization_timeout": int(self.place.timeout), "coordinator_bind_address": address}
        jax.distributed.initialize(address, self.size, self.rank, [self.place.local_rank], **options)
        devices = {device.process_index: device for device in reversed(jax.devices())}
        if self.sharded and devices[0].platform == "cpu":
            raise BackendError(
                "shard must be used with GPUs, or in one process, since gradients in parts are added up wrongly over gloo in "
                f"JAX {jax.__version__} at times (jax-ml/jax#40830), got {self.size} processes without GPUs."
            )
        self.mesh = DeviceMesh([devices[rank] for rank in range(self.size)], self.sharded)

    def reduce(self, gradients: Any) -> Any:
        """Return the gradients, whose sum XLA has made itself."""
        return gradients

    def _end(self) -> None:
        jax.distributed.shutdown()


class _Devices(Alone):
    """The devices of one process, each with a part of the weights."""

    def __init__(self) -> None:
        super().__init__()
        devices = jax.local_devices()
        if len(devices) == 1:
            raise ConfigError(f"shard must be used with several devices, got {devices[0].platform} alone.")
        self.sharded, self.devices, self.mesh = True, len(devices), DeviceMesh(devices, True)


def join(place: Place, shard: bool = False) -> Processes:
    """Meet the other processes; to be called before anything else of the framework."""
    return _Devices() if place.size == 1 else JAXProcesses(place, shard)
