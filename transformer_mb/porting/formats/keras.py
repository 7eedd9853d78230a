"""Keras ``.weights.h5``, of Keras 3 and of Keras 2; written as Keras 3 does.

h5py reads it in a process of its own: the C library under it has crashed on damaged files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from .. import worker
from ..kinds import Format
from ..model import NativeFile
from ..safety.raw_arrays import check_names, first_bytes
from ..settings import recorded_fields

SIGNATURE = b"\x89HDF\r\n\x1a\n"
CONFIG = "transformer_mb.config"
LAYERS = re.compile(r"(model_weights|layers|_operations)/")  # of a whole .h5, a .weights.h5, a checkpoint


def recognize(path: Path) -> bool:
    return first_bytes(path, len(SIGNATURE)) == SIGNATURE


def read(path: Path) -> NativeFile:
    tensors, facts = worker.call("formats.native_loaders.keras:read", {}, {"path": str(path.resolve())})
    check_names(tensors, path)
    settings = recorded_fields(facts["config"], f"{path}, attribute {CONFIG}")
    order = [name for name in facts["names"] if name in tensors]  # as the file lists them
    left_out = facts["left_out"]
    notes = (f"{left_out} variables of Keras' optimizer and random state were left out.",) if left_out else ()
    return NativeFile(format="keras", tensors={name: tensors[name] for name in order}, settings=settings, notes=notes)


def write(path: Path, native: NativeFile) -> None:
    """Made in memory: the C library under h5py crashes when a disk is full."""
    import h5py

    with h5py.File(path.name, "w", driver="core", backing_store=False) as file:
        if native.settings:
            file.attrs[CONFIG] = json.dumps(dict(native.settings))
        file.create_group("vars")  # Keras 2 asks the model for variables of its own
        for name, array in native.tensors.items():
            file.create_dataset(name, data=np.asarray(array))
        file.flush()
        content = file.id.get_file_image()
    path.write_bytes(content)


def hint(names: list[str]) -> str:
    if not any(map(LAYERS.match, names)):
        return ""
    return "These are names of layers of Keras' own, put together by somebody: no family here says what they compute."


ROW = Format(
    name="keras",
    title="Keras .weights.h5, of Keras 3 and 2",
    suffix=".weights.h5",
    shards=(".h5",),
    index_of_layers=True,
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.tensorflow.EncoderDecoder",
    lines="""
import h5py
from transformer_mb import TransformerConfig
from transformer_mb.backends.tensorflow import EncoderDecoder
text = h5py.File({path}).attrs['transformer_mb.config']
model = EncoderDecoder.from_config(TransformerConfig.from_json(text))
model.load_weights({path})
""",
    requires=("h5py",),
    backend="tensorflow",
    records=True,
    needs_suffix=True,
    version_setting="keras_version",
    hint=hint,
)
