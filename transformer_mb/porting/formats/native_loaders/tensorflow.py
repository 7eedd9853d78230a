"""TensorFlow's own reader of its checkpoints: a table of names and the bytes they stand for."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from ....errors import PortError
from ....processes.limits import limit_process
from ...safety.raw_arrays import DTYPES, size_of

ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
BOOKKEEPING = ("_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter")


def read(unused: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import tensorflow as tf  # before the limit, since libraries take memory too

    prefix = Path(settings["prefix"])
    limit_process(_size(prefix))
    arrays, notes = load(tf, prefix)
    return arrays, {"notes": notes}


def _size(prefix: Path) -> int:
    """Of the index and its shards, which must be files that end."""
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
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        if name.startswith(BOOKKEEPING):
            continue
        if "OPTIMIZER_SLOT" in name or not {"optimizer", "seed_generator"}.isdisjoint(name.split("/")):
            optimizer += 1
            continue
        dtype = dtypes[name]
        if dtype.name not in DTYPES:
            raise PortError(f"Tensor {name!r:.80} must be of {', '.join(DTYPES)}, got {dtype.name}.")
        left -= tf.TensorShape(shape).num_elements() * dtype.size
        if left < 0:
            raise PortError(f"Tensor {name!r:.80} of shape {shape} claims more numbers than the files hold: refused.")
        arrays[name.removesuffix(ENDING)] = reader.get_tensor(name)
    note = f"{optimizer} variables of Keras' optimizer (whose Adam is another formula) and random state were left out."
    return arrays, [note] if optimizer else []
