"""flax msgpack: what ``flax.serialization.to_bytes`` makes of parameters, alone or with an optax Adam state.

An array is msgpack's extension 1, itself msgpack of (shape, dtype name, bytes); 3 is a scalar likewise. Arrays above a
gigabyte come in pieces. Source: flax/serialization.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ..model import Arrays, NativeFile
from ..safety.raw_arrays import (
    MOST_AXES,
    MOST_TENSORS,
    array_from_bytes,
    check_name,
    check_names,
    dtype_of,
    first_bytes,
    read_bytes,
    widened_bfloat16,
)

ARRAY, SCALAR = 1, 3
LONGER = (0xD9, 0xDA, 0xDB)  # texts of more than 31 bytes
DEEPEST = 40  # levels
PIECES = "__msgpack_chunked_array__"
LARGEST = 1 << 30  # bytes; flax cuts what is larger, since msgpack cannot hold it
MODEL_KEYS, OPTIMIZER_KEYS = ("params", "model"), ("opt_state", "optimizer")
SLOTS = {"m": "mu", "v": "nu"}


def recognize(path: Path) -> bool:
    """A map whose first key is a text."""
    head = first_bytes(path, 6)
    key = head[{0xDE: 3, 0xDF: 5}.get(head[0], 1) :] if head else b""
    return bool(key) and (0x81 <= head[0] <= 0x8F or head[0] in (0xDE, 0xDF)) and (0xA0 <= key[0] <= 0xBF or key[0] in LONGER)


def read(path: Path) -> NativeFile:
    tree = _unpacked(read_bytes(path), str(path))
    if type(tree) is not dict:
        raise PortError(f"{path} must hold arrays by name, got a {type(tree).__name__}.")
    optimizer = next((tree[key] for key in OPTIMIZER_KEYS if type(tree.get(key)) is dict), None)
    params = next((tree[key] for key in MODEL_KEYS if type(tree.get(key)) is dict), tree)
    while type(params) is dict and list(params) == ["params"]:  # the variables of a linen module, inside a training state
        params = params["params"]
    tensors = _flattened(params, str(path))
    check_names(tensors, path)
    state, notes = (None, ()) if optimizer is None else _state(optimizer, str(path))
    return NativeFile(format="flax", tensors=tensors, optimizer=state, notes=notes)


def _unpacked(data: bytearray, what: str) -> Any:
    """The nested dictionaries; an entry takes a hundred times more memory than its byte in the file, so they are counted."""
    import msgpack

    left = 2 * MOST_TENSORS

    def counted(values: Any) -> Any:
        nonlocal left
        left -= 1 + len(values)
        if left < 0:
            raise PortError(f"more than {MOST_TENSORS} arrays, which no model has.")
        return values

    limits = {"max_map_len": MOST_TENSORS, "max_array_len": MOST_AXES}
    try:
        return msgpack.unpackb(
            data, ext_hook=_array, object_hook=counted, list_hook=counted, raw=False, strict_map_key=True, **limits
        )
    except PortError as error:
        raise PortError(f"{what}: {error}") from None
    except Exception as error:  # msgpack raises what it meets
        raise PortError(f"{what} must be flax msgpack, but it is damaged: {error or type(error).__name__}.") from None


def _array(code: int, data: bytes) -> np.ndarray:
    import msgpack

    if code not in (ARRAY, SCALAR):
        raise PortError(f"A msgpack extension must be 1 or 3, got {code}.")
    shape, name, raw = msgpack.unpackb(data, raw=False, max_array_len=MOST_AXES)
    if type(shape) is not list or type(name) is not str or type(raw) is not bytes:
        raise PortError("An array must be its shape, its dtype's name and its bytes, got something else.")
    if name == "bfloat16":
        return widened_bfloat16(array_from_bytes(raw, np.dtype("uint16"), shape, "of the file"))
    return array_from_bytes(raw, dtype_of(name, "of the file"), shape, "of the file")


def _flattened(tree: Any, what: str, prefix: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    """The arrays of nested dictionaries, those in pieces put together, by the names of the levels joined by ``/``."""
    if isinstance(tree, np.ndarray):
        return {prefix: tree}
    if type(tree) is not dict:
        raise PortError(f"{what} must hold arrays by name, but {prefix or 'it'!r:.80} holds a {type(tree).__name__}.")
    if depth > DEEPEST:
        raise PortError(f"{what} nests its names too deeply.")
    if PIECES in tree:
        return {prefix: _whole(tree, what)}
    arrays: dict[str, np.ndarray] = {}
    for name, value in tree.items():
        full = f"{prefix}/{name}" if prefix else str(name)
        check_name(full, what)  # here, since a long level above many others would make many long names of it
        arrays.update(_flattened(value, what, full, depth + 1))
    return arrays


def _nested(arrays: Arrays) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *levels, last = name.split("/")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        place[last] = array
    return tree


def _whole(tree: dict[str, Any], what: str) -> np.ndarray:
    """An array in pieces."""
    shape, pieces = tree.get("shape"), tree.get("chunks")
    if (
        type(shape) is not dict
        or len(shape) > MOST_AXES
        or type(pieces) is not dict
        or not all(isinstance(p, np.ndarray) for p in pieces.values())
    ):
        raise PortError(f"{what}: an array in pieces must have a shape and chunks, got something else.")
    flat = np.concatenate([pieces[str(i)].reshape(-1) for i in range(len(pieces)) if str(i) in pieces] or [np.zeros(0)])
    sizes: list[int] = [shape.get(str(i), -1) for i in range(len(shape))]
    return array_from_bytes(flat.view(np.uint8).data, flat.dtype, sizes, "in pieces")


def _state(tree: dict[str, Any], what: str) -> tuple[dict[str, np.ndarray] | None, tuple[str, ...]]:
    adam = _adam(tree)
    if adam is None:
        return None, ("The optimizer's state is not optax's Adam (count, mu, nu): it was left out.",)
    moments = {
        f"{slot}.{name.removeprefix('params/')}": array
        for slot, key in SLOTS.items()
        for name, array in _flattened(adam[key], what).items()
    }
    return {"step": np.asarray(adam["count"], np.int64).reshape(()), **moments}, ()


def _adam(tree: Any, depth: int = 0) -> dict[str, Any] | None:
    """The first part of a chain of transformations that has Adam's fields."""
    if type(tree) is not dict or depth > 10:
        return None
    if {"count", "mu", "nu"} <= set(tree) and type(tree["mu"]) is dict and np.size(tree["count"]) == 1:
        return tree
    return next((adam for part in tree.values() if (adam := _adam(part, depth + 1))), None)


def write(path: Path, native: NativeFile) -> None:
    """``{"params": ...}``, and ``opt_state`` as optax.adam nests it: (ScaleByAdamState, EmptyState)."""
    import msgpack

    tree: dict[str, Any] = {"params": _nested(native.tensors)}
    if native.optimizer is not None:
        adam: dict[str, Any] = {"count": native.optimizer["step"].astype(np.int32)}
        for slot, key in SLOTS.items():
            prefix = f"{slot}."
            chosen = {n.removeprefix(prefix): a for n, a in native.optimizer.items() if n.startswith(prefix)}
            adam[key] = _nested(chosen)
        tree["opt_state"] = {"0": adam, "1": {}}
    with path.open("wb") as file:
        msgpack.pack(tree, file, default=_packed, strict_types=True)


def _packed(value: Any) -> Any:
    import msgpack

    if not isinstance(value, np.ndarray):
        raise PortError(f"flax msgpack holds arrays, got a {type(value).__name__}.")
    if value.nbytes > LARGEST:
        size = LARGEST // value.itemsize
        flat = value.reshape(-1)
        parts = {str(i): flat[start : start + size] for i, start in enumerate(range(0, flat.size, size))}
        return {PIECES: True, "shape": {str(i): n for i, n in enumerate(value.shape)}, "chunks": parts}
    dense = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
    return msgpack.ExtType(ARRAY, msgpack.packb((value.shape, value.dtype.name, dense.tobytes()), use_bin_type=True))
