"""One training step: forward, backward, clip, update."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet import np as mnp

from transformer_mb.distributed import Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import dropouts, injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .shim import compiled
from .threads import suit
from .weights import named_parameters, to_device

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
        self.optimizer = build_optimizer(self.tensors, options)
        self.changes = self._split(self.optimizer.change)
        # Where backward writes each parameter's gradient, so that all of them are one vector already.
        self.vector = mnp.zeros_like(self.optimizer.change)
        self.gradients = [gradient.as_np_ndarray() for gradient in self._split(self.vector)]
        self.dropouts = dropouts(model)
        self.compiled: dict[Any, Any] = {}
        self._sum: mnp.ndarray | None = None  # of the gradients of a step's batches before the last

    def _split(self, vector: mnp.ndarray) -> list[mx.nd.NDArray]:
        """Views of a vector of all parameters in a row; mxnet.np's own reshape would copy."""
        vector = vector.as_nd_ndarray()
        ends = np.cumsum([tensor.size for tensor in self.tensors]).tolist()
        return [vector[end - t.size : end].reshape(t.shape) for end, t in zip(ends, self.tensors, strict=True)]

    def run_batch(self, share: Share, part: int, last: bool) -> mnp.ndarray:
        suit(self.context, share.batch.target_in.size, self.model.config.num_hiddens)
        tensors = [None if array is None else to_device(np.array(array), self.context) for array in share.batch]
        if share.dropout_masks is None:
            dropped = seeded_dropout(self.model, self.dropout_seed, self.dropout_step(part), share.batch)
        else:
            dropped = injected_dropout(self.model, share.dropout_masks)
        dtype = self.optimizer.change.dtype
        with dropped:
            masks = {path: dropout.factors(dropout.keep, dtype, self.context) for path, dropout in self.dropouts.items()}
        self._attach_gradients()
        with autograd.record():
            loss = self._loss(tensors, masks) * share.weight
        loss.backward()
        if part:
            self.vector += self._sum
        self._sum = None if last else self.vector.copy()
        if last:
            self._apply(self.processes.reduce(self.vector))
        return loss.detach()

    def _attach_gradients(self) -> None:
        """gluon makes gradients of its own whenever a model is cast or initialized, and so does another trainer of it."""
        for parameter, gradient in zip(self.parameters.values(), self.gradients, strict=True):
            holder = parameter.holder
            if holder.grad_req != "null" and holder._grad[0] is not gradient:
                holder._grad = [gradient]
                autograd.mark_variables(holder.list_data(), holder._grad, holder.grad_req)

    def _loss(self, tensors: Sequence[mnp.ndarray | None], masks: Mapping[str, mnp.ndarray]) -> mnp.ndarray:
        """The loss, forward and backward compiled for these shapes (nearly twice as fast as imperative, measured)."""

        def imperative() -> mnp.ndarray:
            source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
            with injected_dropout(self.model, masks):
                logits, _ = self.model(source, target_in, source_valid_lens)
            return self.loss(logits, target_out, target_valid_lens).sum()

        inputs = [*tensors, *masks.values()]
        shapes = tuple(None if array is None else array.shape for array in inputs)
        arrays = [*inputs, *(parameter.value for parameter in self.parameters.values())]
        if shapes not in self.compiled:
            self.compiled[shapes] = compiled(imperative, arrays, static=len(self.compiled) < STATIC_STEPS)
        step = self.compiled[shapes]
        return imperative() if step is None else step(arrays)

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        native = [parameter.native(gradients[name]) for name, parameter in self.parameters.items()]
        self._apply(mnp.concatenate(native, axis=None))

    def _apply(self, vector: mnp.ndarray) -> None:
        if self.options.clip_norm is not None:
            vector = clip_gradients(vector, self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(vector, self.learning_rate, self.step_count)
        # weight -= 1.0 * change, for all small ones in one operation, which takes three times as long for a large one.
        pairs = [
            (parameter.value.as_nd_ndarray(), change)
            for parameter, change in zip(self.parameters.values(), self.changes, strict=True)
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
        tensors = [parameter.native(moments[name]) for name, parameter in self.parameters.items()]
        self.optimizer.slots[slot][:] = mnp.concatenate(tensors, axis=None)
