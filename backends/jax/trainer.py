"""One training step, compiled as a whole: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.dropout_masks import dropout_sites
from transformer_mb.trainer import SLOTS, Batch, Trainer, TrainerOptions

from .compiled import full_precision, leave_room, split
from .dropout import Dropout, injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer, clip_gradients
from .weights import at_least_float32, from_numpy, parameters, to_numpy

# What optax calls the moments.
STATE_NAMES = {"m": "mu", "v": "nu", "momentum": "trace"}


class JAXTrainer(Trainer):
    """The model's variables hold the current weights after every step; arrays read from them before it are gone."""

    def __init__(self, model: nnx.Module, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.parameters = parameters(model)
        # What the compiled step depends on: the learning rate and the seed are inputs.
        self.static = replace(options, learning_rate=1.0, seed=0)
        self.structure, values = split(model)
        self.device = next(iter(values.values())).sharding
        self.key = jax.device_put(jax.random.key(options.seed), self.device)
        _, self.optimizer_state = build_optimizer(values, options)

    def _values(self) -> dict[str, Array]:
        return {name: parameter.value for name, parameter in self.parameters.items()}

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> Array:
        leave_room()
        loss, values, self.optimizer_state = _step(
            self.structure,
            self.static,
            self._values(),
            self.optimizer_state,
            jax.tree.map(np.asarray, tuple(batch)),
            None if dropout_masks is None else dict(dropout_masks),
            self.key,
            self.step_count,
            self.learning_rate,
        )
        self._store(values)
        return loss

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        values = self._values()
        given = {
            name: from_numpy(parameter.layout(gradients[name]), values[name].dtype)
            for name, parameter in self.parameters.items()
        }
        values, self.optimizer_state = _update(self.static, values, self.optimizer_state, given, self.learning_rate)
        self._store(values)

    def _store(self, values: Mapping[str, Array]) -> None:
        for name, parameter in self.parameters.items():
            parameter.set(values[name])
        self.step_count += 1

    def slots(self) -> dict[str, np.ndarray]:
        moments = {}
        for slot in SLOTS[self.options.optimizer]:
            state = getattr(self.optimizer_state, STATE_NAMES[slot])
            for name, parameter in self.parameters.items():
                moments[f"{slot}.{name}"] = parameter.layout(to_numpy(state[name]))
        return moments

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        changes: dict[str, Any] = {}
        for slot in SLOTS[self.options.optimizer]:
            old = getattr(self.optimizer_state, STATE_NAMES[slot])
            changes[STATE_NAMES[slot]] = {
                name: jax.device_put(from_numpy(parameter.layout(slots[f"{slot}.{name}"]), old[name].dtype), old[name].sharding)
                for name, parameter in self.parameters.items()
            }
        if self.options.optimizer == "adam":
            changes["count"] = jnp.asarray(step_count, jnp.int32)
        self.optimizer_state = self.optimizer_state._replace(**changes)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3))
def _step(structure, options, values, optimizer_state, batch, masks, key, step_count, learning_rate):
    source, source_valid_lens, target_in, target_out, target_valid_lens = batch
    loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)

    def total(values):
        model = structure.module(values)
        model.train()
        kept = masks
        if masks is None:
            # A function of the seed and the step alone; the user's random streams stay where they are.
            rows, steps = target_in.shape
            sites = dropout_sites(model.config, rows, 0 if source is None else source.shape[1], steps)
            kept = Dropout.draw(jax.random.fold_in(key, step_count), sites)
        with injected_dropout(model, kept):
            logits, _ = model(source, target_in, source_valid_lens)
        return loss(logits, target_out, target_valid_lens).sum()

    with full_precision():
        found, gradients = jax.value_and_grad(total)(values)
    return found, *_apply(options, values, optimizer_state, gradients, learning_rate)


@partial(jax.jit, static_argnums=0, donate_argnums=(1, 2))
def _update(options, values, optimizer_state, gradients, learning_rate):
    return _apply(options, values, optimizer_state, gradients, learning_rate)


def _apply(options, values, optimizer_state, gradients, learning_rate):
    gradients = at_least_float32(gradients)
    if options.clip_norm is not None:
        gradients = clip_gradients(gradients, options.clip_norm)
    optimizer, _ = build_optimizer(values, options)
    updates, optimizer_state = optimizer.update(gradients, optimizer_state)
    weights = at_least_float32(values)
    weights = {name: (weights[name] - learning_rate * updates[name]).astype(values[name].dtype) for name in values}
    return weights, optimizer_state
