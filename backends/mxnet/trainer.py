"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp

from transformer_mb.trainer import Batch, Trainer, TrainerOptions

from .dropout import Dropout, injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer, clip_gradients
from .weights import named_blocks, named_parameters, to_device

# How many arrays MXNet's fused update takes; more of them overwrite its memory.
MOST_ARRAYS = 60


class MXNetTrainer(Trainer):
    """Imperative: the operators' own time is most of a step, and hybridizing cannot shorten it (measured)."""

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

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> mnp.ndarray:
        tensors = [None if array is None else to_device(np.array(array), self.context) for array in batch]
        source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
        with self._drawn_dropout(), injected_dropout(self.model, dropout_masks), autograd.record():
            logits, _ = self.model(source, target_in, source_valid_lens)
            loss = self.loss(logits, target_out, target_valid_lens).sum()
        loss.backward()
        self._apply(mnp.concatenate([parameter.grad() for parameter in self.parameters], axis=None))
        return loss.detach()

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

    @contextmanager
    def _drawn_dropout(self) -> Iterator[None]:
        """Inside, dropout depends on the seed and the step alone.

        From NumPy: MXNet has one random state for the whole process, which cannot be put back, and seeding it takes
        a millisecond; and it draws slower.
        """
        generator = np.random.default_rng((self.options.seed, self.step_count))
        dropouts = [block for _, block in named_blocks(self.model) if isinstance(block, Dropout)]
        for dropout in dropouts:
            dropout.generator = generator
        try:
            yield
        finally:
            for dropout in dropouts:
                dropout.generator = None

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
