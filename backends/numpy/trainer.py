"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transformer_mb.trainer import Batch, Trainer, TrainerOptions

from .dropout import Dropout, injected_dropout
from .framework import Layer
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer, clip_gradients


class NumPyTrainer(Trainer):
    def __init__(self, model: Layer, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.names, self.parameters = zip(*model.named_parameters(), strict=True)
        self.dropouts = [layer for _, layer in model.named_layers() if isinstance(layer, Dropout)]
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.parameters, options)
        _keep_freed_memory()

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> np.floating:
        if not self.model.training:
            self.model.train()
        # The dropouts draw one after the other from bits that depend on the seed and the step alone.
        bits = np.random.SFC64((self.options.seed % 2**64, self.step_count))
        for dropout in self.dropouts:
            dropout.bits = bits
        self.optimizer.whole.gradient.fill(0.0)
        with injected_dropout(self.model, dropout_masks):
            logits, _ = self.model(batch.source, batch.target_in, batch.source_valid_lens)
        losses = self.loss(logits, batch.target_out, batch.target_valid_lens)
        self.model.backward(self.loss.backward(np.ones_like(losses)))
        self._apply()
        return losses.sum()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        for name, parameter in zip(self.names, self.parameters, strict=True):
            parameter.gradient[...] = gradients[name]
        self._apply()

    def _apply(self) -> None:
        if self.options.clip_norm is not None:
            clip_gradients([self.optimizer.whole.gradient], self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(self.learning_rate, self.step_count)

    def slots(self) -> dict[str, np.ndarray]:
        return {name: moment.copy() for name, moment in self._moments()}

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        for name, moment in self._moments():
            moment[...] = slots[name]

    def _moments(self):
        """Each parameter's part of each moment, as a view."""
        for slot, whole in self.optimizer.moments.items():
            offset = 0
            for name, parameter in zip(self.names, self.parameters, strict=True):
                end = offset + parameter.value.size
                yield f"{slot}.{name}", whole[offset:end].reshape(parameter.value.shape)
                offset = end


def _keep_freed_memory() -> None:
    """Let each step reuse the memory of the one before.

    glibc returns freed memory to the system and pays a page fault for every 4 KiB that it asks for again: 1,300 in a
    float32 step of the D2L model, a fifth of its time. Freeing one block of just under 32 MiB raises its threshold to
    64 MiB (mallopt(3), M_MMAP_THRESHOLD). The block is never touched, so it takes no memory; elsewhere it does nothing.
    """
    np.empty(31 * 2**20, np.uint8)
