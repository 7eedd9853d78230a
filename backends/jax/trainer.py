"""A training step, compiled as a whole: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from transformer_mb.distributed import Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .linear import reverse_mode, round_products
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import Recipe, build_optimizer, clip_gradients
from .shortcuts.compilation import Program, compiled
from .shortcuts.compiled import Structure, at_least_float32, product_precision, split
from .weights import array_like, named_parameters

# What optax calls the moments.
STATE_NAMES = {"m": "mu", "v": "nu", "momentum": "trace"}


class _Inputs(NamedTuple):
    """The inputs that a compiled step gets of a batch.

    Attributes:
        batch: its five arrays; masks: of the dropout, None where it is drawn from ``key`` and ``step``.
        weight: of its loss in that of the whole step.
    """

    batch: tuple[Array, ...]
    masks: dict[str, Any] | None
    key: Array
    step: Array | int
    weight: Array | float

    def dropout(self, model: EncoderDecoder) -> AbstractContextManager[None]:
        if self.masks is None:
            return seeded_dropout(model, self.key, self.step, self.batch)
        return injected_dropout(model, self.masks)


class _Objective(NamedTuple):
    """Hold the options that a loss and its gradients are compiled for."""

    normalization: str
    label_smoothing: float
    precision: str

    @classmethod
    def of(cls, options: TrainerOptions) -> _Objective:
        return cls(options.normalization, options.label_smoothing, options.precision)


class JAXTrainer(Trainer):
    """The model's variables hold the current weights after every step.

    A step takes over the memory of the moments alone. Others may hold that of the weights too: ``nnx.clone`` copies
    variables, and shares their arrays.
    """

    precisions = ("full", "bf16", "tf32")
    compiles = True
    always_compiles = True
    few_shapes = True

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.objective, self.recipe = _Objective.of(options), Recipe.of(options)
        _, values = split(model)
        # All on the weights' device by name, as what a step returns is: or the second step would be compiled anew.
        first = next(iter(values.values()))
        self.sharding, self.platform = first.sharding, next(iter(first.devices())).platform
        self.key = jax.device_put(_key(options.seed), self.sharding)
        self.optimizer_state = jax.device_put(build_optimizer(values, self.recipe)[1], self.sharding)
        self._sums: dict[str, Array] | None = None  # of the gradients of a step's batches before the last

    def _values(self) -> dict[str, Array]:
        return {name: parameter.value for name, parameter in self.parameters.items()}

    def run_batch(self, share: Share, part: int, last: bool) -> Array | float:
        """Run a batch, on all devices together, where there are several: a batch's sums are those of all its rows."""
        structure, _ = split(self.model)  # again, since its attributes may have been changed
        processes: Any = self.processes
        mesh = processes.mesh if processes.size > 1 or processes.sharded else None
        arrays = jax.tree.map(np.asarray, tuple(share.batch))
        masks = None if share.dropout_masks is None else dict(share.dropout_masks)
        values = self._values()
        if part == 0:
            self._sums = None if last else _zeros(values)
        if mesh is not None:
            arrays, masks = mesh.rows(arrays), mesh.rows(masks)
            values, self._sums, self.optimizer_state, self.key = mesh.laid((values, self._sums, self.optimizer_state, self.key))
        inputs = _Inputs(arrays, masks, self.key, self.dropout_step(part), share.of_step)
        if last:
            step = _step if mesh is None else mesh.compiled(_step, values, self.optimizer_state)
            state, given = (self.optimizer_state, values), (self._recipe_now(), inputs, self._sums)
            loss, values, self.optimizer_state = step(structure, self.objective, *state, *given)
            self._sums = None
            self._store(values if mesh is None or mesh.in_parts else mesh.whole(values))
        else:
            add = _add if mesh is None else mesh.compiled(_add, self._sums)
            loss, self._sums = add(structure, self.objective, self._sums, values, inputs)
        if mesh is None:
            return loss
        return 0.0 if processes.rank else loss.addressable_data(0)

    def _gather(self) -> None:
        processes: Any = self.processes
        for name, value in processes.mesh.whole(self._values()).items():
            self.parameters[name].assign(value)

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        native = {name: parameter.native(gradients[name]) for name, parameter in self.parameters.items()}
        state = self.optimizer_state, self._values()
        apply = compiled(_apply, 0, self.platform)
        values, self.optimizer_state = apply(self._recipe_now(), *state, native)
        self._store(values)

    def _recipe_now(self) -> Recipe:
        return replace(self.recipe, learning_rate=self.learning_rate)

    def _store(self, values: Mapping[str, Array]) -> None:
        for name, parameter in self.parameters.items():
            parameter.assign(values[name])
        self.step_count += 1

    def moments(self, slot: str) -> Iterable[Array]:
        moments = getattr(self.optimizer_state, STATE_NAMES[slot])
        processes: Any = self.processes
        if processes.sharded:
            moments = processes.mesh.whole(moments)
        return [moments[name] for name in self.parameters]

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        before = getattr(self.optimizer_state, STATE_NAMES[slot])
        arrays = {name: array_like(p.layout(moments[name]), before[name]) for name, p in self.parameters.items()}
        self.optimizer_state = self.optimizer_state._replace(**{STATE_NAMES[slot]: arrays})
        if self.options.optimizer != "sgd":
            count = jax.device_put(jnp.asarray(self.step_count, jnp.int32), self.sharding)
            self.optimizer_state = self.optimizer_state._replace(count=count)


def _key(seed: int) -> Array:
    """Make a key in which each of 64 bits counts, as in NumPy. JAX reads the low half alone while it knows no float64."""
    high, low = divmod(seed % 2**64, 2**32)
    key = jax.random.key(low)
    return jax.random.fold_in(key, high) if high else key


@partial(Program, static_argnums=(0, 1), donate_argnums=2)
def _step(
    structure: Structure,
    objective: _Objective,
    optimizer_state: Any,
    values: dict[str, Array],
    recipe: Recipe,
    inputs: _Inputs,
    sums: dict[str, Array] | None,
) -> tuple[Array, dict[str, Array], Any]:
    loss, gradients = _differentiated(structure, objective, values, inputs)
    gradients = gradients if sums is None else _added(sums, gradients)
    return loss, *_apply(recipe, optimizer_state, values, gradients)


@partial(Program, static_argnums=(0, 1), donate_argnums=2)
def _add(
    structure: Structure, objective: _Objective, sums: dict[str, Array], values: dict[str, Array], inputs: _Inputs
) -> tuple[Array, dict[str, Array]]:
    """A batch of a step that is not its last."""
    loss, gradients = _differentiated(structure, objective, values, inputs)
    return loss, _added(sums, gradients)


@jax.jit
def _zeros(values: dict[str, Array]) -> dict[str, Array]:
    return jax.tree.map(jnp.zeros_like, at_least_float32(values))


def _added(sums: dict[str, Array], gradients: dict[str, Array]) -> dict[str, Array]:
    return {name: total + gradients[name].astype(total.dtype) for name, total in sums.items()}


def _differentiated(
    structure: Structure, objective: _Objective, values: dict[str, Array], inputs: _Inputs
) -> tuple[Array, dict[str, Array]]:
    """The weighed loss and its gradients."""
    source, source_valid_lens, target_in, target_out, target_valid_lens = inputs.batch
    loss = MaskedSoftmaxCELoss(label_smoothing=objective.label_smoothing, normalization=objective.normalization)

    def total(values: dict[str, Array]) -> Array:
        model = structure.module(values)
        model.train()
        if objective.precision == "bf16":
            round_products(model, jnp.bfloat16)
        with inputs.dropout(model):
            logits, _ = model(source, target_in, source_valid_lens)
        return loss(logits, target_out, target_valid_lens).sum() * inputs.weight

    with product_precision(objective.precision), reverse_mode():
        return jax.value_and_grad(total)(values)


def _apply(
    recipe: Recipe, optimizer_state: Any, values: dict[str, Array], gradients: dict[str, Array]
) -> tuple[dict[str, Array], Any]:
    gradients = at_least_float32(gradients)
    if recipe.clip_norm is not None:
        gradients = clip_gradients(gradients, recipe.clip_norm)
    optimizer, _ = build_optimizer(values, recipe)
    updates, optimizer_state = optimizer.update(gradients, optimizer_state)
    weights = at_least_float32(values)
    if recipe.weight_decay is not None:
        updates = {name: updates[name] + recipe.weight_decay * weights[name] for name in values}
    rate = recipe.learning_rate
    weights = {name: (weights[name] - rate * updates[name]).astype(values[name].dtype) for name in values}
    return weights, optimizer_state
