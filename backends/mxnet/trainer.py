"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp

from transformer_mb.dropout_masks import dropout_sites
from transformer_mb.shapes import check_dropout_paths
from transformer_mb.trainer import Batch, Trainer, TrainerOptions

from .dropout import Dropout, injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer, clip_gradients
from .shim import compiled
from .weights import named_blocks, named_parameters, to_device

# How many arrays MXNet's fused update takes; more of them overwrite its memory.
MOST_ARRAYS = 60
# How many compiled steps, one for each shape of a batch, keep their memory; the others allocate it anew.
STATIC_STEPS = 4


class MXNetTrainer(Trainer):
    def __init__(self, model: gluon.Block, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.names, self.parameters = zip(*named_parameters(model).items(), strict=True)
        self.context = self.parameters[0].list_ctx()[0]
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.parameters, options)
        self.ends = np.cumsum([parameter.data().size for parameter in self.parameters])
        # Views of the change by parameter; mxnet.np's own reshape would copy.
        change = self.optimizer.change.as_nd_ndarray()
        self.changes = [
            change[end - parameter.data().size : end].reshape(parameter.shape)
            for end, parameter in zip(self.ends.tolist(), self.parameters, strict=True)
        ]
        self.dropouts = {path: block for path, block in named_blocks(model) if isinstance(block, Dropout) and block._rate > 0.0}
        self.compiled: dict[Any, Any] = {}

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> mnp.ndarray:
        tensors = [None if array is None else to_device(np.array(array), self.context) for array in batch]
        masks = self._masks(self._draw_masks(batch) if dropout_masks is None else dropout_masks)
        with autograd.record():
            loss = self._loss(tensors, masks)
        loss.backward()
        self._apply(mnp.concatenate([parameter.grad() for parameter in self.parameters], axis=None))
        return loss.detach()

    def _draw_masks(self, batch: Batch) -> dict[str, np.ndarray]:
        """From the seed and the step alone, and by NumPy: MXNet's one random state is the whole process's, cannot be
        put back, and takes a millisecond to seed."""
        generator = np.random.default_rng((self.options.seed, self.step_count))
        source_steps = 0 if batch.source is None else batch.source.shape[1]
        sites = dropout_sites(self.model.config, *batch.target_in.shape[:1], source_steps, batch.target_in.shape[1])
        return {path: generator.random(shape, np.float32) >= rate for path, (rate, shape) in sites.items()}

    def _masks(self, masks: Mapping[str, np.ndarray]) -> dict[str, mnp.ndarray]:
        check_dropout_paths(masks, self.dropouts)
        dtype = self.optimizer.change.dtype
        return {path: dropout.factors(masks[path], dtype, self.context) for path, dropout in self.dropouts.items()}

    def _loss(self, tensors: Sequence[mnp.ndarray | None], masks: Mapping[str, mnp.ndarray]) -> mnp.ndarray:
        """The loss, forward and backward compiled for these shapes (nearly twice as fast as imperative, measured)."""

        def imperative() -> mnp.ndarray:
            source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
            with injected_dropout(self.model, masks):
                logits, _ = self.model(source, target_in, source_valid_lens)
            return self.loss(logits, target_out, target_valid_lens).sum()

        inputs = [*tensors, *masks.values()]
        shapes = tuple(None if array is None else array.shape for array in inputs)
        arrays = [*inputs, *(parameter.data() for parameter in self.parameters)]
        if shapes not in self.compiled:
            self.compiled[shapes] = compiled(imperative, arrays, static=len(self.compiled) < STATIC_STEPS)
        step = self.compiled[shapes]
        return imperative() if step is None else step(arrays)

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        flat = np.concatenate([np.ravel(gradients[name]) for name in self.names])
        self._apply(to_device(flat.astype(self.optimizer.change.dtype), self.context))

    def _apply(self, gradients: mnp.ndarray) -> None:
        if self.options.clip_norm is not None:
            gradients = clip_gradients(gradients, self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(gradients, self.learning_rate, self.step_count)
        for first in range(0, len(self.parameters), MOST_ARRAYS):
            changes = self.changes[first : first + MOST_ARRAYS]
            weights = [p.data().as_nd_ndarray() for p in self.parameters[first : first + MOST_ARRAYS]]
            pairs = [array for pair in zip(weights, changes, strict=True) for array in pair]
            count = len(weights)
            # weight -= 1.0 * change, for all of them in one operation.
            mx.nd.multi_sgd_update(*pairs, out=weights, num_weights=count, lrs=(1.0,) * count, wds=(0.0,) * count)

    def slots(self) -> dict[str, np.ndarray]:
        moments = {}
        for slot, flat in self.optimizer.slots.items():
            pieces = np.split(flat.asnumpy(), self.ends[:-1])
            for name, parameter, piece in zip(self.names, self.parameters, pieces, strict=True):
                moments[f"{slot}.{name}"] = piece.reshape(parameter.shape)
        return moments

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        for slot, flat in self.optimizer.slots.items():
            values = np.concatenate([np.ravel(slots[f"{slot}.{name}"]) for name in self.names])
            flat[:] = to_device(values.astype(flat.dtype), self.context)
