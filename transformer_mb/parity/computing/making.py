"""The models, trainers and batches that requests ask for, kept since they are compiled; and traces that none may leave."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...dropout_masks import dropout_masks
from ...errors import ParityError
from ...interface import FUNCTIONS
from ...trainer import Trainer
from .messages import under
from .thresholds import told

Spec = Mapping[str, Any]


def layer_of(backend: Backend, spec: Spec, arrays: Arrays) -> Any:
    """Return the function of a request, the layer with its weights, or the ``part`` of it that is called."""
    if spec["layer"] in FUNCTIONS:
        return getattr(backend, spec["layer"])
    native = backend.layer(spec["layer"], *spec["arguments"], **spec["options"])
    if weights := under("weights", arrays):
        backend.set_weights(native, weights)
    return getattr(native, spec["part"]) if "part" in spec else native


def model_of(backend: Backend, config: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return a model as if it were new: what a framework made for the same configuration is kept for many requests."""
    native = _empty(backend, TransformerConfig.from_dict(dict(config)), told())
    if hasattr(native, "train"):  # the mode in which a new one is, where it has any
        native.train()
    backend.set_weights(native, under("weights", arrays))
    return native


@lru_cache(maxsize=32)
def _empty(backend: Backend, config: TransformerConfig, setting: str | None) -> Any:
    """Make a model without weights: in float64 as large ones are loaded; where thresholds are tiny, then a copy of it."""
    native = backend._create_loaded(config) if setting or backend.dtype == "float64" else backend.create_empty(config)
    # MXNet's copies have no gradients.
    return copy.deepcopy(native) if setting and backend.name != "mxnet" else native


def trainer_of(backend: Backend, spec: Spec, arrays: Arrays) -> tuple[Trainer, Any]:
    """Make a trainer with its model."""
    native = model_of(backend, spec["config"], arrays)
    trainer = trainer_for(backend, native, spec)
    if under("slots", arrays):
        _put(trainer, spec, arrays)
    return trainer, native


def trainer_for(backend: Backend, native: Any, spec: Spec) -> Trainer:
    return backend.trainer(native, **_options(spec["options"]))


# A framework's own flag, of a parameter that no trainer is to change. A layer of NumPy's or of flax's has none.
FROZEN: dict[str, tuple[str, Any]] = {
    "torch": ("requires_grad", False),
    "tensorflow": ("trainable", False),
    "paddle": ("stop_gradient", True),
    "mxnet": ("grad_req", "null"),
}


@contextmanager
def frozen(backend: Backend, native: Any, spec: Spec) -> Iterator[Collection[str]]:
    """Inside, the ``frozen`` parameters are so by the flag; yield those that the caller has to put back after each step."""
    names: Collection[str] = spec.get("frozen", ())
    if not names or backend.name not in FROZEN:
        yield names
        return
    flag, value = FROZEN[backend.name]
    parameters = trainer_for(backend, native, spec).parameters
    before = {name: getattr(parameters[name].holder, flag) for name in names}
    for name in names:
        setattr(parameters[name].holder, flag, value)
    try:
        yield ()
    finally:  # the model is kept for other requests
        for name, earlier in before.items():
            setattr(parameters[name].holder, flag, earlier)


def continued_trainer(backend: Backend, spec: Spec, arrays: Arrays) -> tuple[Trainer, Any]:
    """Return the trainer of the last such run, with its model, in the state of the given weights and moments."""
    trainer, native = _trainer(backend, json.dumps([spec["config"], spec["options"]], sort_keys=True))
    backend.set_weights(native, under("weights", arrays))
    _put(trainer, spec, arrays)
    return trainer, native


@lru_cache(maxsize=1)
def _trainer(backend: Backend, made_of: str) -> tuple[Trainer, Any]:
    config, options = json.loads(made_of)
    native = backend.create_empty(TransformerConfig.from_dict(config))
    return backend.trainer(native, **_options(options)), native


def _options(options: Spec) -> dict[str, Any]:
    """Convert options to those of TrainerOptions: JSON has no tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}


def _put(trainer: Trainer, spec: Spec, arrays: Arrays) -> None:
    trainer.load_state_dict({"step": np.asarray(spec["step_count"], np.int64), **under("slots", arrays)})


def batch_of(arrays: Arrays) -> Batch:
    return Batch(*(arrays.get(name) for name in Batch._fields))  # type: ignore[arg-type]  # a decoder has no source


def masks_of(config: TransformerConfig, batch: Batch, seed: int, step_count: int) -> dict[str, np.ndarray]:
    """Draw the masks of the neutral stream, in each process anew: they are keyed by the seed and the step alone."""
    rows, steps = batch.target_in.shape
    source_steps = batch.source.shape[1] if batch.source is not None else 0
    return _drawn(config, seed, step_count, rows, source_steps, steps)


@lru_cache(maxsize=160)  # a trajectory is followed by many perturbed runs; half a megabyte a step
def _drawn(
    config: TransformerConfig, seed: int, step_count: int, rows: int, source_steps: int, steps: int
) -> dict[str, np.ndarray]:
    return dropout_masks(config, seed, step_count, rows, source_steps, steps)


def check_unchanged(before: Arrays, arrays: Arrays) -> None:
    """The arrays of a request are its caller's. Raises ParityError."""
    for name, value in before.items():
        if not np.array_equal(value, arrays[name], equal_nan=True):
            raise ParityError(f"The arrays that a backend is given must stay as they are, but {name} was changed.")


def check_mode(native: Any) -> None:
    """``making.model_of`` gives models in training mode, where their framework has a mode. Raises ParityError."""
    if not getattr(native, "training", True):
        raise ParityError("A model must stay in the mode in which it was given, training, but it was left in evaluation.")


def kept_weights(backend: Backend, native: Any) -> np.ndarray:
    """The attention weights that a layer keeps after a call that asked for them."""
    return getattr(backend, "_numpy", np.asarray)(native.attention_weights)


def kept_unasked(native: Any) -> dict[str, np.ndarray]:
    """Attention weights that a layer, an encoder or a decoder keeps without being asked for them; the reference keeps none."""
    holders = [native, *(getattr(native, name, None) for name in ("attention", "attention1", "attention2"))]
    maps = list(_leaves([getattr(holder, "attention_weights", None) for holder in holders]))
    return {f"kept attention {number}": np.zeros(0) for number, weights in enumerate(maps) if weights is not None}


def _leaves(kept: Any) -> Iterator[Any]:
    if isinstance(kept, list):
        for one in kept:
            yield from _leaves(one)
    else:
        yield kept
