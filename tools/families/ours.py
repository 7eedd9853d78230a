"""The answers of a port on one backend in float64, computed in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transformer_mb.decoding.generation_config import GenerationConfig
from transformer_mb.files.tensors import read_tensor_file
from transformer_mb.porting.files.sources import read_source
from transformer_mb.registry import get_backend
from transformer_mb.task_heads import task_outputs

from .library import ALIKE, SEARCHES, STEPS


def run_ports(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the folder of each model and run it; ``facts``: ``backend``, ``folder`` and the ``models``' names.

    Returns: what ``library.run`` does, by ``NAME/X``; and the backend's version.
    """
    backend = get_backend(facts["backend"], dtype="float64")
    found = {}
    for name in facts["models"]:
        batch = {key.split("batch.")[1]: array for key, array in arrays.items() if key.startswith(f"{name}/batch.")}
        found |= {f"{name}/{key}": array for key, array in run(backend, Path(facts["folder"]) / name, batch).items()}
    return found, {"version": backend.version()}


def run(backend: Any, folder: Path, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return ``encoder``, ``logits``, ``head`` and the tokens of each search, as far as the model has them."""
    ported = read_source(folder, None, {}).model
    config, model = ported.config, backend.from_weights(ported.config, ported.weights)
    source, lens = batch["source"], batch["source_valid_lens"]
    found = {}
    if config.has_encoder:
        counts = np.arange(source.shape[1]) < lens[:, None]
        found["encoder"] = backend.encode(model, source, lens) * counts[..., None]
    heads = task_outputs(backend, model, ported.heads, source, lens)
    if len(heads) == 1:
        found["head"] = next(iter(heads.values()))
    if config.has_decoder and not heads:
        found["logits"] = backend.logits(model, source if config.has_encoder else None, batch["target"], lens)
        given = (source, lens) if config.has_encoder else (batch["prompt"], None)
        beams = {name: GenerationConfig(**fields, **ALIKE) for name, fields in SEARCHES.items() if name != "greedy"}
        searched = {name: backend.generate(model, *given, one) for name, one in beams.items()}
        searched["greedy"] = backend.greedy(model, *given, max_steps=STEPS)  # the search of this project
        found |= {name: np.array([row + [-1] * (STEPS - len(row)) for row in rows]) for name, rows in searched.items()}
    return found


def written_back(folder: Path, place: Path) -> list[str]:
    """Write the folder's model by its own family at ``place``, and name each tensor that is not the same bit for bit."""
    source = read_source(folder, None, {})
    place.mkdir(parents=True)
    source.family.write(source.model, place)
    before, after = (read_tensor_file(one / "model.safetensors").arrays for one in (folder, place))
    names = sorted({*before, *after})
    return [
        name for name in names if name not in before or name not in after or before[name].tobytes() != after[name].tobytes()
    ]
