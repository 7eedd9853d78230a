"""Models that every target can hold, and what lies at a destination, to compare."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np

import transformer_mb as tmb
from porting.hugging_face import MADE
from porting.small_model import BIASES, FEW, built
from transformer_mb.checkpoint import Checkpoint, write_checkpoint
from transformer_mb.files.tensors import digest
from transformer_mb.porting.exports import EXPORTS
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.model import PortedModel

FILES = [*(name for name, row in FORMATS.items() if row.write), "torch_transformer", "paddle_transformer"]
# Of the families of Hugging Face's, all written by one function, those that have a model here stand for the others.
FOLDERS = [*(name for name in FAMILIES if name in ("canonical", *MADE)), *EXPORTS]
SETTINGS = {"num_heads": 4, "norm_position": "post", "activation": "relu"}


def model_for(target: str, number: int) -> PortedModel:
    """Models of different numbers have the same sizes and other weights and moments."""
    if target in ("marian", "bert"):
        model = MADE[target]()
    else:
        model = built(tmb.presets.d2l(11, 13, **FEW, **BIASES, final_norm=True, max_len=20))
    weights = {name: array * np.float32(1 + number / 8) for name, array in model.weights.items()}
    numbered = list(enumerate(weights.items()))
    moments = {f"{slot}.{name}": np.full_like(a, number + 1 + i / 128) for slot in ("m", "v") for i, (name, a) in numbered}
    return replace(model, weights=weights, optimizer={"step": np.array(number + 1), **moments})


def source_for(target: str, number: int, folder: Path) -> Path:
    """A canonical checkpoint to port."""
    model = model_for(target, number)
    vocabularies = {name: getattr(model, name) for name in ("source_vocabulary", "target_vocabulary")}
    parts = {"config": model.config, "weights": model.weights, "optimizer": model.optimizer}
    write_checkpoint(folder, Checkpoint(**parts, **vocabularies, trainer={}))
    return folder


def content(path: Path) -> dict[str, bytes | str]:
    """Everything below a path: files with their bytes, anything else with its kind."""
    found: dict[str, bytes | str] = {}
    for entry in sorted([path, *path.rglob("*")] if path.is_dir() else [path]):
        mode = entry.lstat().st_mode
        what = "folder" if stat.S_ISDIR(mode) else str(stat.S_IFMT(mode))
        found[str(entry.relative_to(path))] = entry.read_bytes() if stat.S_ISREG(mode) else what
    return found


def model_at(target: str, path: Path) -> str:
    """Which model lies there: a digest of all its numbers; raises for what is not whole."""
    if target in EXPORTS:
        return hashlib.sha256(repr(content(path)).encode()).hexdigest()
    settings = SETTINGS if target in FILES else {}
    model = read_source(path, target if target in FAMILIES else None, settings).model
    optimizer = "none" if model.optimizer is None else digest(model.optimizer).hex()
    return f"{digest(model.weights).hex()} {optimizer}"
