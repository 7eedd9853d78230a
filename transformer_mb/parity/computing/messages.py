"""Questions to a worker and its answers: a small JSON text and named arrays as safetensors bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...columns.messages import Arrays, pack_arrays, unpack_arrays


@dataclass(frozen=True)
class Request:
    """One computation on one backend.

    Args:
        computation: a name of ``computations.COMPUTATIONS``.
        dtype: in which the backend computes; the arrays come rounded to it, so that the reference can start from the same.
        spec: what is no array; JSON values only.
        arrays: floats as float64 or float32, ids as int64, masks as bool.
    """

    computation: str
    dtype: str
    spec: Mapping[str, Any]
    arrays: Arrays = field(default_factory=dict)

    def in_setting(self, setting: str | None) -> Request:
        """The same, computed in one of ``Backend.gpu_settings`` or with tiny thresholds; None: as it is."""
        return replace(self, spec={**self.spec, "setting": setting})

    def pack(self) -> tuple[str, bytes]:
        return json.dumps([self.computation, self.dtype, self.spec]), pack_arrays(self.arrays)

    @classmethod
    def unpack(cls, text: str, data: bytes) -> Request:
        computation, dtype, spec = json.loads(text)
        return cls(computation, dtype, spec, unpack_arrays(data))


def under(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays whose name starts with ``prefix.``, by the rest of their name."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}


def named(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """The reverse of ``under``."""
    return {f"{prefix}.{name}": value for name, value in arrays.items()}


def without_arrays(tree: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A nesting with its arrays moved into ``arrays``, and references in their places; an array that is there has its name."""
    if isinstance(tree, np.ndarray):
        known = next((key for key, value in arrays.items() if value is tree), name)
        arrays[known] = tree
        return {"array": known}
    if isinstance(tree, list | tuple):
        return [without_arrays(item, f"{name}.{i}", arrays) for i, item in enumerate(tree)]
    return tree


def with_arrays(tree: Any, arrays: Arrays) -> Any:
    """The reverse of ``without_arrays``."""
    if isinstance(tree, dict):
        return arrays[tree["array"]]
    if isinstance(tree, list):
        return [with_arrays(item, arrays) for item in tree]
    return tree
