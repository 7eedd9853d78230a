"""A training step: forward, backward, clip, update."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet import np as mnp

from transformer_mb.batch import Batch
from transformer_mb.distributed import Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import dropouts, injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .shortcuts.calls import settings_within
from .shortcuts.inputs import Inputs, shapes_of, split
from .shortcuts.tape import compiled
from .shortcuts.threads import suit
from .weights import named_parameters

# How many arrays MXNet's fused update takes; more of them overwrite its memory.
MOST_ARRAYS = 60
# From how many weights on an array has an update of its own.
LARGE = 2**15
# How many compiled steps, one for each shape of a batch, keep their memory; the others allocate it anew.
STATIC_STEPS = 4


class MXNetTrainer(Trainer):
    few_shapes = True

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.tensors = [parameter.value for parameter in self.parameters.values()]
        self.context = self.tensors[0].ctx
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(list(self.parameters.values()), options)
        self.changes = self._split(self.optimizer.change)
        # Where backward writes each parameter's gradient, so that all of them are one vector already.
        self.vector = mnp.zeros_like(self.optimizer.change)
        self.gradients = [gradient.as_np_ndarray() for gradient in self._split(self.vector)]
        self.dropouts = dropouts(model)
        self.settings: Any = None  # of the model that ``compiled`` computes
        self.compiled: dict[Any, Any] = {}
        self.kept: dict[Any, Inputs] = {}  # of the compiled steps that keep their memory
        self._sum: mnp.ndarray | None = None  # of the gradients of a step's batches before the last

    def _split(self, vector: mnp.ndarray) -> list[mx.nd.NDArray]:
        return split(vector, [tensor.shape for tensor in self.tensors])

    def run_batch(self, share: Share, part: int, last: bool) -> mnp.ndarray:
        with autograd.pause():  # MXNet refuses to write into arrays inside another record()
            return self._run_batch(share, part, last)

    def _run_batch(self, share: Share, part: int, last: bool) -> mnp.ndarray:
        suit(self.context, share.batch.target_in.size, self.model.config.num_hiddens)
        watched = self._look()
        if share.dropout_masks is None:
            dropped = seeded_dropout(self.model, self.dropout_seed, self.dropout_step(part), share.batch)
        else:
            dropped = injected_dropout(self.model, share.dropout_masks)
        with dropped:
            inputs = self._inputs(share.batch)
        self._attach_gradients()
        with autograd.record():
            loss = (self._imperative(inputs) if watched else self._loss(inputs)) * share.weight
        loss.backward()
        if part:
            self.vector += self._sum
        self._sum = None if last else self.vector.copy()
        if last:
            self._apply(self.processes.reduce(self.vector))
        return loss.detach()

    def _look(self) -> bool:
        """Tell whether this step is to call the model's layers; forget what is compiled where it has changed."""
        settings = settings_within(self.model)
        # Parameters that are initialized, cast or frozen have other arrays than those that are compiled in.
        now = None if settings is None else [*settings, *(id(parameter.value) for parameter in self.parameters.values())]
        if now is None or now != self.settings:
            self.dropouts, self.settings = dropouts(self.model), now
            self.compiled.clear()
            self.kept.clear()
        return now is None

    def _attach_gradients(self) -> None:
        """gluon makes gradients of its own whenever a model is cast or initialized, and so does another trainer of it."""
        for parameter, gradient in zip(self.parameters.values(), self.gradients, strict=True):
            holder = parameter.holder
            if holder.grad_req != "write":
                gradient[:] = 0.0  # no backward comes to what is frozen, and "add" adds to the last step's
            if holder.grad_req != "null" and holder._grad[0] is not gradient:
                holder._grad = [gradient]
                autograd.mark_variables(holder.list_data(), holder._grad, holder.grad_req)

    def _inputs(self, batch: Batch) -> Inputs:
        shapes = shapes_of(batch, self.dropouts)
        inputs = self.kept.get(shapes) or Inputs(shapes, self.optimizer.change.dtype, self.context)
        inputs.fill(batch, self.dropouts)
        return inputs

    def _loss(self, inputs: Inputs) -> mnp.ndarray:
        """The loss, forward and backward compiled for these shapes (nearly twice as fast as imperative, measured)."""
        if inputs.shapes not in self.compiled:
            static = len(self.compiled) < STATIC_STEPS
            # What is compiled with its inputs, rather than for any others, is prepared once and for all.
            arrays = [] if static else inputs.arrays
            self.compiled[inputs.shapes] = compiled(partial(self._imperative, inputs), arrays, static)
            if static:
                self.kept[inputs.shapes] = inputs
        step = self.compiled[inputs.shapes]
        if step is None:
            return self._imperative(inputs)
        return step([] if inputs.shapes in self.kept else inputs.arrays)

    def _imperative(self, inputs: Inputs) -> mnp.ndarray:
        source, source_valid_lens, target_in, target_out, target_valid_lens = inputs.batch
        with injected_dropout(self.model, dict(zip(self.dropouts, inputs.masks, strict=True))):
            logits, _ = self.model(source, target_in, source_valid_lens)
        return self.loss(logits, target_out, target_valid_lens).sum()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        with autograd.pause():
            # What is frozen has none, also in the norm by which they are clipped.
            given = {name: gradients[name] if p.trained else np.zeros(p.shape) for name, p in self.parameters.items()}
            native = [parameter.native(given[name]) for name, parameter in self.parameters.items()]
            self._apply(mnp.concatenate(native, axis=None))

    def _apply(self, vector: mnp.ndarray) -> None:
        if self.options.clip_norm is not None:
            clip_gradients(vector, self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(vector, self.learning_rate, self.step_count)
        # weight -= 1.0 * change, for all small ones in one operation, which takes three times as long for a large one.
        pairs = [
            (parameter.value.as_nd_ndarray(), change)
            for parameter, change in zip(self.parameters.values(), self.changes, strict=True)
            if parameter.trained
        ]
        small = [pair for pair in pairs if pair[0].size < LARGE]
        for weight, change in pairs:
            if weight.size >= LARGE:
                mx.nd.sgd_update(weight, change, lr=1.0, wd=0.0, out=weight)
        for first in range(0, len(small), MOST_ARRAYS):
            some = small[first : first + MOST_ARRAYS]
            ones, zeros = (1.0,) * len(some), (0.0,) * len(some)
            weights = [weight for weight, _ in some]
            mx.nd.multi_sgd_update(*itertools.chain(*some), out=weights, num_weights=len(some), lrs=ones, wds=zeros)

    def moments(self, slot: str) -> Iterable[mx.nd.NDArray]:
        return self._split(self.optimizer.slots[slot])

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        with autograd.pause():
            tensors = [parameter.native(moments[name]) for name, parameter in self.parameters.items()]
            self.optimizer.slots[slot][:] = mnp.concatenate(tensors, axis=None)
