"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.trainer import SLOTS, Batch, Trainer, TrainerOptions

from .dropout import injected_dropout, seeded
from .loss import MaskedSoftmaxCELoss
from .optimizers import FlatOptimizer
from .weights import entries


class PaddleTrainer(Trainer):
    def __init__(self, model: nn.Layer, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.entries = entries(model)
        self.parameters = [entry.parameter for entry in self.entries.values()]
        self.place = self.parameters[0].place
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = FlatOptimizer(self.parameters, options)

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> Tensor:
        if not self.model.training:
            self.model.train()
        with paddle.device.device_guard(self.place):
            tensors = [None if array is None else paddle.to_tensor(array, place=self.place) for array in batch]
            source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
            with seeded(self.options.seed, self.step_count), injected_dropout(self.model, dropout_masks):
                logits, _ = self.model(source, target_in, source_valid_lens)
                loss = self.loss(logits, target_out, target_valid_lens).sum()
            self._apply(paddle.grad(loss, self.parameters, allow_unused=True))
        return loss.detach()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        self._apply([entry.native(gradients[name]) for name, entry in self.entries.items()])

    def _apply(self, gradients: list[Tensor]) -> None:
        self.optimizer.step(gradients, self.learning_rate, self.step_count)
        self.step_count += 1

    def slots(self) -> dict[str, np.ndarray]:
        moments = {}
        for slot in SLOTS[self.options.optimizer]:
            pieces = self.optimizer.split(self.optimizer.slots[slot])
            for (name, entry), piece in zip(self.entries.items(), pieces, strict=True):
                moments[f"{slot}.{name}"] = entry.canonical(piece)
        return moments

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        for slot in SLOTS[self.options.optimizer]:
            moments = [entry.native(slots[f"{slot}.{name}"]) for name, entry in self.entries.items()]
            self.optimizer.slots[slot] = self.optimizer.flatten(moments)
