"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from transformer_mb.trainer import SLOTS, Batch, Trainer, TrainerOptions

from .dropout import injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer, clip_gradients
from .weights import to_numpy

# What torch.optim calls the moments.
STATE_NAMES = {"m": "exp_avg", "v": "exp_avg_sq", "momentum": "momentum_buffer"}


class TorchTrainer(Trainer):
    def __init__(self, model: nn.Module, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.names, self.parameters = zip(*model.named_parameters(), strict=True)
        self.device = self.parameters[0].device
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.parameters, options)

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> Tensor:
        tensors = [None if array is None else torch.as_tensor(array).to(self.device) for array in batch]
        source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
        if not self.model.training:
            self.model.train()
        with self._seeded(), injected_dropout(self.model, dropout_masks):
            logits, _ = self.model(source, target_in, source_valid_lens)
            loss = self.loss(logits, target_out, target_valid_lens).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self._apply()
        return loss.detach()

    @contextmanager
    def _seeded(self) -> Iterator[None]:
        """Inside, random numbers depend on the seed and the step alone; the caller's are left as they were."""
        cuda = self.device.type == "cuda"
        generator = torch.cuda.default_generators[self.device.index or 0] if cuda else torch.default_generator
        before = generator.get_state()
        # Not torch.manual_seed: where CUDA is not in use, it remembers a stack trace at every call.
        generator.manual_seed(hash((self.options.seed, self.step_count)))
        try:
            yield
        finally:
            generator.set_state(before)

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        for name, parameter in zip(self.names, self.parameters, strict=True):
            parameter.grad = _copied(gradients[name], parameter)
        self._apply()

    def _apply(self) -> None:
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        if self.options.clip_norm is not None:
            clip_gradients(gradients, self.options.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        self.optimizer.step()
        self.step_count += 1

    def slots(self) -> dict[str, np.ndarray]:
        # SGD without momentum keeps none: its velocity is the last gradient.
        last = self.options.optimizer == "sgd" and self.options.momentum == 0.0
        moments = {}
        for slot in SLOTS[self.options.optimizer]:
            for name, parameter in zip(self.names, self.parameters, strict=True):
                value = parameter.grad if last else self.optimizer.state[parameter].get(STATE_NAMES[slot])
                moments[f"{slot}.{name}"] = to_numpy(torch.zeros_like(parameter) if value is None else value)
        return moments

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        for slot in SLOTS[self.options.optimizer]:
            for name, parameter in zip(self.names, self.parameters, strict=True):
                state = self.optimizer.state[parameter]
                state[STATE_NAMES[slot]] = _copied(slots[f"{slot}.{name}"], parameter)
                # torch keeps the count as a float32 tensor, with each parameter.
                state["step"] = torch.tensor(float(step_count), dtype=torch.float32, device=parameter.device)


def _copied(array: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    """A tensor of its own: torch would share the caller's memory, and an update would write over it."""
    return torch.tensor(array).to(like)
