"""TensorFlow's own reader of its checkpoints: a table of names and the bytes they stand for."""

from __future__ import annotations

import glob
from collections import deque
from pathlib import Path
from typing import Any

from ....errors import PortError
from ....machine.limits import limit_process
from ...safety.raw_arrays import DTYPES, size_of

ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
BOOKKEEPING = (GRAPH, "save_counter")
BESIDE = {"optimizer", "_optimizer", "seed_generator"}
OF_OPTIMIZER = {"_iterations", "_trainable_variables"}  # what a Keras optimizer holds, whatever it is called


def read(unused: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import tensorflow as tf  # before the limit, since libraries take memory too

    prefix = Path(settings["prefix"])
    limit_process(_size(prefix))
    arrays, notes = load(tf, prefix)
    return arrays, {"notes": notes}


def _size(prefix: Path) -> int:
    """Add up the index and its shards, which must be files that end."""
    return sum(size_of(path) for path in prefix.parent.glob(f"{glob.escape(prefix.name)}.*") if not path.is_dir())


def load(tf: Any, prefix: Path) -> tuple[dict[str, Any], list[str]]:
    """Every variable by its path in the object graph, without the optimizer's."""
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        return _tensors(tf, reader, _size(prefix))
    except PortError:
        raise
    except Exception as error:  # TensorFlow raises what it meets
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PortError(
            f"{prefix}.index must be a TensorFlow checkpoint, but TensorFlow cannot read it: {first:.300}."
        ) from None


def _tensors(tf: Any, reader: Any, left: int) -> tuple[dict[str, Any], list[str]]:
    arrays, optimizer = {}, 0
    dtypes = reader.get_variable_to_dtype_map()
    paths = _paths(reader.get_tensor(GRAPH)) if GRAPH in dtypes else {}
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        if name.startswith(BOOKKEEPING):
            continue
        if "OPTIMIZER_SLOT" in name or (paths and name not in paths) or not BESIDE.isdisjoint(paths.get(name, name).split("/")):
            optimizer += 1
            continue
        dtype = dtypes[name]
        if dtype.name not in DTYPES:
            raise PortError(f"Tensor {name!r:.80} must be of {', '.join(DTYPES)}, got {dtype.name}.")
        left -= tf.TensorShape(shape).num_elements() * dtype.size
        if left < 0:
            raise PortError(f"Tensor {name!r:.80} of shape {shape} claims more numbers than the files hold: refused.")
        arrays[paths.get(name, name).removesuffix(ENDING)] = reader.get_tensor(name)
    note = f"{optimizer} variables of Keras' optimizer (whose Adam is another formula) and random state were left out."
    return arrays, [note] if optimizer else []


def _paths(graph: bytes) -> dict[str, str]:
    """Return by a variable's name in the file the shortest path to it that leads through no optimizer.

    The file names it by the shortest of all: an optimizer, which lists the variables it trains, is often nearer than the
    layer whose variable it is.
    """
    from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

    nodes = TrackableObjectGraph.FromString(graph).nodes
    found: dict[str, str] = {}
    seen, waiting = {0}, deque([(0, "")])
    while waiting:
        number, path = waiting.popleft()
        for attribute in nodes[number].attributes:
            found[attribute.checkpoint_key] = f"{path}.ATTRIBUTES/{attribute.name}"
        for child in nodes[number].children:
            names = {one.local_name for one in nodes[child.node_id].children}
            if child.node_id not in seen and child.local_name not in BESIDE and not names >= OF_OPTIMIZER:
                seen.add(child.node_id)
                waiting.append((child.node_id, f"{path}{child.local_name}/"))
    return found
