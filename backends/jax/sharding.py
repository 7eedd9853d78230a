"""A mesh of devices: the rows of a batch are laid over it, and everything else is the same on all of them or in parts.

The step is the one that a single device compiles: XLA itself finds what to gather and where to sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Layouts = tuple[NamedSharding, ...]


class DeviceMesh:
    """Devices that take each step together.

    Args:
        devices: all of them, in the order of the rows.
        in_parts: whether an array is split along its longest axis that their number divides; or each device has all of it.
    """

    def __init__(self, devices: Sequence[jax.Device], in_parts: bool):
        self.in_parts, self._mesh = in_parts, Mesh(devices, ("rows",))
        self._same, self._rows = (NamedSharding(self._mesh, PartitionSpec(*axes)) for axes in ((), ("rows",)))

    def layout(self, shape: Sequence[int]) -> NamedSharding:
        """Return where an array that is no batch lies."""
        fitting = [(size, -axis) for axis, size in enumerate(shape) if size and size % self._mesh.size == 0]
        if not self.in_parts or not fitting:
            return self._same
        return NamedSharding(self._mesh, PartitionSpec(*[None] * -max(fitting)[1], "rows"))

    def laid(self, tree: Any) -> Any:
        """Arrays that every process has whole, laid over the mesh; nothing is copied where a device has it already."""

        def global_array(array: Array) -> Array:
            layout = self.layout(array.shape)
            if array.sharding == layout:
                return array
            places = layout.addressable_devices_indices_map(array.shape).items()
            pieces = [jax.device_put(array if layout.is_fully_replicated else array[at], device) for device, at in places]
            return jax.make_array_from_single_device_arrays(array.shape, layout, pieces)

        return jax.tree.map(global_array, tree)

    def rows(self, tree: Any) -> Any:
        """The rows of this process as a part of global arrays."""
        return jax.tree.map(lambda array: jax.make_array_from_process_local_data(self._rows, np.asarray(array)), tree)

    def whole(self, tree: Any) -> Any:
        """Gather global arrays on this process's first device; where they are in parts, all processes call it together."""
        if all(len(array.sharding.device_set) == 1 for array in jax.tree.leaves(tree)):
            return tree  # not laid over the mesh yet
        if self.in_parts:
            tree = _copied(self._same)(tree)
        return jax.tree.map(lambda array: array.addressable_data(0), tree)

    def compiled(self, step: Callable[..., Any], *results: Any) -> Callable[..., Any]:
        """A compiled step that gives a number and trees of arrays like ``results``, laid as these are.

        Its third argument is gone afterwards.
        """
        layouts, structure = jax.tree.flatten((self._same, *jax.tree.map(lambda array: self.layout(array.shape), results)))
        return _compiled(step, tuple(layouts), structure)


@lru_cache
def _copied(layout: NamedSharding) -> Callable[..., Any]:
    return jax.jit(lambda tree: tree, out_shardings=layout)


@lru_cache
def _compiled(step: Callable[..., Any], layouts: Layouts, structure: Any) -> Callable[..., Any]:
    plain: Any = step
    options = partial(jax.jit, static_argnums=(0, 1), donate_argnums=2)
    return options(plain.__wrapped__, out_shardings=jax.tree.unflatten(structure, layouts))
