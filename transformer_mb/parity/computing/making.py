"""The models, trainers and batches that requests ask for; what was made last is kept, since it is compiled already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from ...backend import Backend
from ...config import TransformerConfig
from ...dropout_masks import dropout_masks
from ...trainer import Batch, Trainer
from .messages import Arrays, under

Spec = Mapping[str, Any]
Made = TypeVar("Made")


class Last(Generic[Made]):
    """What was made last, for a backend and a key."""

    def __init__(self) -> None:
        self.entry: tuple[Backend, str, Made] | None = None

    def get(self, backend: Backend, key: str, make: Callable[[], Made]) -> Made:
        if self.entry is None or self.entry[0] is not backend or self.entry[1] != key:
            self.entry = (backend, key, make())
        return self.entry[2]


MODEL: Last[Any] = Last()
TRAINER: Last[tuple[Trainer, Any]] = Last()


def model_of(backend: Backend, config: Mapping[str, Any], arrays: Arrays) -> Any:
    native = backend.create_empty(TransformerConfig.from_dict(dict(config)))
    backend.set_weights(native, under("weights", arrays))
    return native


def kept_model(backend: Backend, config: Mapping[str, Any], arrays: Arrays) -> Any:
    """The model of the last call, if it is the same: its parts are asked for one by one."""
    weights = under("weights", arrays)
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(f"{name} {weights[name].dtype} {weights[name].shape}".encode())
        digest.update(np.ascontiguousarray(weights[name]).tobytes())
    return MODEL.get(backend, digest.hexdigest(), lambda: model_of(backend, config, arrays))


def trainer_of(backend: Backend, spec: Spec, arrays: Arrays) -> tuple[Trainer, Any]:
    """With its model."""
    native = model_of(backend, spec["config"], arrays)
    # As TrainerOptions takes them: JSON has no tuples.
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in spec["options"].items()}
    trainer = backend.trainer(native, **options)
    if under("slots", arrays):
        _put(trainer, spec, arrays)
    return trainer, native


def continued_trainer(backend: Backend, spec: Spec, arrays: Arrays) -> tuple[Trainer, Any]:
    """In a state that all of its weights and moments are given for: the trainer of the last such run, with its model."""
    made_of = json.dumps([spec["config"], spec["options"]], sort_keys=True)
    trainer, native = TRAINER.get(backend, made_of, lambda: trainer_of(backend, spec, arrays))
    backend.set_weights(native, under("weights", arrays))
    _put(trainer, spec, arrays)
    return trainer, native


def _put(trainer: Trainer, spec: Spec, arrays: Arrays) -> None:
    trainer.load_state_dict({"step": np.asarray(spec["step_count"], np.int64), **under("slots", arrays)})


def batch_of(arrays: Arrays) -> Batch:
    return Batch(*(arrays.get(name) for name in Batch._fields))  # type: ignore[arg-type]  # a decoder has no source


def masks_of(config: TransformerConfig, batch: Batch, seed: int, step_count: int) -> dict[str, np.ndarray]:
    """From the neutral stream, in each process anew: they are keyed by the seed and the step alone."""
    rows, steps = batch.target_in.shape
    source_steps = batch.source.shape[1] if batch.source is not None else 0
    return _drawn(config, seed, step_count, rows, source_steps, steps)


@lru_cache(maxsize=160)  # a trajectory is followed by many perturbed runs; half a megabyte a step
def _drawn(
    config: TransformerConfig, seed: int, step_count: int, rows: int, source_steps: int, steps: int
) -> dict[str, np.ndarray]:
    return dropout_masks(config, seed, step_count, rows, source_steps, steps)
