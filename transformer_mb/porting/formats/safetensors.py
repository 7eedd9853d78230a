"""A bare state_dict in safetensors; the configuration travels in its metadata when we write it."""

from __future__ import annotations

import json
from pathlib import Path

from ...errors import CheckpointError
from ...files.regular import regular_size
from ...files.tensors import BFLOAT16, read_tensor_file, write_tensors
from ...printable import counted
from ..kinds import Format
from ..model import NativeFile
from ..safety.port_errors import port_errors
from ..safety.raw_arrays import check_names, first_bytes, widened_bfloat16
from ..settings import recorded_fields

CONFIG = "transformer_mb.config"


def recognize(path: Path) -> bool:
    head = first_bytes(path, 9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < regular_size(path)


def read(path: Path) -> NativeFile:
    with port_errors(CheckpointError):
        file = read_tensor_file(path)
    narrow = [name for name, dtype in file.dtypes.items() if dtype == BFLOAT16]
    widened = {name: widened_bfloat16(file.arrays[name]) for name in narrow}
    how_many = counted(len(narrow), "tensor of bfloat16 was", "tensors of bfloat16 were")
    notes = (f"{how_many} widened to float32.",) if narrow else ()
    tensors = {**file.arrays, **widened}
    # What save_model writes of a model's shared tensors: by each name that it leaves out, the one that it keeps.
    tensors |= {left: tensors[kept] for left, kept in file.metadata.items() if left not in tensors and kept in tensors}
    check_names(tensors, path)
    settings = recorded_fields(file.metadata.get(CONFIG), f"{path}, metadata {CONFIG}")
    return NativeFile(format="safetensors", tensors=tensors, settings=settings, notes=notes)


def write(path: Path, native: NativeFile) -> None:
    write_tensors(path, native.tensors, {CONFIG: json.dumps(dict(native.settings))} if native.settings else None)


ROW = Format(
    name="safetensors",
    title="safetensors of a state_dict",
    suffix=".safetensors",
    shards=(".safetensors",),
    recognize=recognize,
    asked_first=True,  # eight bytes of a length come before its mark
    read=read,
    write=write,
    into="transformer_mb.backends.torch.EncoderDecoder",
    lines="""
from safetensors import safe_open
from safetensors.torch import load_model
from transformer_mb import TransformerConfig
from transformer_mb.backends.torch import EncoderDecoder
text = safe_open({path}, 'pt').metadata()['transformer_mb.config']
model = EncoderDecoder.from_config(TransformerConfig.from_json(text))
load_model(model, {path})
model.eval()
""",
    records=True,
)
