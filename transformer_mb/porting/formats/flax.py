"""flax msgpack: what ``flax.serialization.to_bytes`` makes of parameters, alone or with an optax Adam state.

An array is msgpack's extension 1, itself msgpack of (shape, dtype name, bytes); 3 is a scalar likewise. Arrays above a
gigabyte come in pieces. Source: flax/serialization.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PortError
from ..kinds import Format
from ..model import Arrays, NativeFile
from ..safety.raw_arrays import (
    MOST_AXES,
    MOST_TENSORS,
    array_from_bytes,
    check_names,
    dtype_of,
    first_bytes,
    read_bytes,
    widened_bfloat16,
)
from .held import flat, held

ARRAY, SCALAR = 1, 3
LONGER = (0xD9, 0xDA, 0xDB)  # texts of more than 31 bytes
PIECES = "__msgpack_chunked_array__"
LARGEST = 1 << 30  # bytes; flax cuts what is larger, since msgpack cannot hold it
SLOTS = {"m": "mu", "v": "nu"}
ADAM = {"count", *SLOTS.values()}


def recognize(path: Path) -> bool:
    """A map whose first key is a text."""
    head = first_bytes(path, 6)
    key = head[{0xDE: 3, 0xDF: 5}.get(head[0], 1) :] if head else b""
    return bool(key) and (0x81 <= head[0] <= 0x8F or head[0] in (0xDE, 0xDF)) and (0xA0 <= key[0] <= 0xBF or key[0] in LONGER)


def read(path: Path) -> NativeFile:
    tree = _unpacked(read_bytes(path), str(path))
    if type(tree) is not dict:
        raise PortError(f"{path} must hold arrays by name, got a {type(tree).__name__}.")
    found = held(tree, str(path), lambda value: isinstance(value, np.ndarray), "/")
    tensors, notes = found.tensors, found.notes
    while all(name.startswith("params/") for name in tensors):  # the variables of a linen module, inside a training state
        tensors = {name.removeprefix("params/"): array for name, array in tensors.items()}
    check_names(tensors, path)
    state = None if found.optimizer is None else _state(found.optimizer, notes)
    return NativeFile(format="flax", tensors=tensors, optimizer=state, others=found.others, notes=tuple(notes))


def read_tree(path: Path) -> NativeFile:
    """All arrays by their path: of a file that holds one model and nothing beside it, whatever its levels are called."""
    tensors = flat(_unpacked(read_bytes(path), str(path)), str(path), lambda value: isinstance(value, np.ndarray), "/")
    check_names(tensors, path)
    return NativeFile(format="flax", tensors=tensors)


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

    def named(pairs: list[tuple[Any, Any]]) -> Any:
        """Whole numbers are the places of an nnx list."""
        values = {str(key): value for key, value in counted(pairs) if type(key) in (str, int)}
        if len(values) != len(pairs):
            raise PortError("the keys of a map must be texts or whole numbers, each once, got something else.")
        return _whole(values) if PIECES in values else values

    limits = {"max_map_len": MOST_TENSORS, "max_array_len": MOST_AXES}
    try:
        return msgpack.unpackb(
            data, ext_hook=_array, object_pairs_hook=named, list_hook=counted, raw=False, strict_map_key=False, **limits
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


def _nested(arrays: Arrays) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, array in arrays.items():
        *levels, last = name.split("/")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        place[last] = array
    return tree


def _whole(tree: dict[str, Any]) -> np.ndarray:
    """An array in pieces."""
    shape, pieces = tree.get("shape"), tree.get("chunks")
    if (
        type(shape) is not dict
        or len(shape) > MOST_AXES
        or type(pieces) is not dict
        or not all(isinstance(p, np.ndarray) for p in pieces.values())
    ):
        raise PortError("An array in pieces must have a shape and chunks, got something else.")
    flat = np.concatenate([pieces[str(i)].reshape(-1) for i in range(len(pieces)) if str(i) in pieces] or [np.zeros(0)])
    sizes: list[int] = [shape.get(str(i), -1) for i in range(len(shape))]
    return array_from_bytes(flat.view(np.uint8).data, flat.dtype, sizes, "in pieces")


def _state(tree: Any, notes: list[str]) -> dict[str, np.ndarray] | None:
    """Read optax's Adam; where it leaves anything open, a note says so and the weights come without it."""
    adam, parts = _adam(tree)
    if adam is None:
        problem = "it is not optax's Adam (count, mu, nu)"
    elif more := sorted(set(adam) - ADAM):
        problem = f"plain Adam has no {', '.join(more)}"
    elif not (np.size(adam["count"]) == 1 and np.asarray(adam["count"]).dtype.kind in "iu"):
        problem = "its count must be one whole number"
    else:
        if parts != ["0", "1"]:
            notes.append(
                "The optimizer chains more than adam does, such as adamw's decay: this must be set where training continues."
            )
        moments = {
            f"{slot}.{name.removeprefix('params/')}": array
            for slot, key in SLOTS.items()
            for name, array in flat(adam[key], key, lambda value: isinstance(value, np.ndarray), "/").items()
        }
        return {"step": np.asarray(adam["count"], np.int64).reshape(()), **moments}
    notes.append(f"The optimizer's state was left out: {problem:.200}.")
    return None


def _adam(tree: Any, depth: int = 0, parts: list[str] | None = None) -> tuple[dict[str, Any] | None, list[str]]:
    """The first part of a chain of transformations that has Adam's fields, and the names of the parts of its chain."""
    if type(tree) is not dict or depth > 10:
        return None, []
    if set(tree) >= ADAM and all(type(tree[key]) is dict and tree[key] for key in SLOTS.values()):
        return tree, parts or []
    chains = (_adam(part, depth + 1, sorted(tree)) for part in tree.values())
    return next((found for found in chains if found[0] is not None), (None, []))


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


ROW = Format(
    name="flax",
    title="flax msgpack",
    suffix=".msgpack",
    shards=(".msgpack",),
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.jax.EncoderDecoder",
    lines="""
from flax import nnx, serialization
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.jax import EncoderDecoder
model = EncoderDecoder.from_config(read_config({config}))
params = nnx.state(model, nnx.Param)
nnx.replace_by_pure_dict(params, serialization.msgpack_restore(open({path}, 'rb').read())['params'])
nnx.update(model, params)
model.eval()
""",
    optimizer=True,
    requires=("msgpack",),
    backend="jax",
)
