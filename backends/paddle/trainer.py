"""One training step: forward, backward, clip, update.

It runs as dynamic graph: compiled with paddle.jit.to_static the same step takes as long (measured, 2 CPU cores), after
5 seconds of compiling for each shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.trainer import SLOTS, Batch, Trainer, TrainerOptions

from .dropout import injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer
from .weights import entries, gradients


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
        self.optimizer = build_optimizer(self.parameters, options)

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> Tensor:
        if not self.model.training:
            self.model.train()
        with paddle.device.device_guard(self.place):
            tensors = [None if array is None else paddle.to_tensor(array, place=self.place) for array in batch]
            source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
            with _seeded(self.options.seed, self.step_count), injected_dropout(self.model, dropout_masks):
                logits, _ = self.model(source, target_in, source_valid_lens)
                loss = self.loss(logits, target_out, target_valid_lens).sum()
            self._apply(gradients(loss, self.parameters))
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


@contextmanager
def _seeded(*key: int) -> Iterator[None]:
    """Inside, Paddle's random numbers depend on ``key`` alone; the caller's are left as they were."""
    devices = {"cpu", paddle.get_device()}
    states = {device: paddle.get_rng_state(device) for device in devices}
    paddle.seed(hash(key) & 0x7FFFFFFFFFFFFFFF)
    try:
        yield
    finally:
        for device, state in states.items():
            paddle.set_rng_state(state, device)
