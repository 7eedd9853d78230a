"""One training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from transformer_mb.trainer import Batch, Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .two_bytes import at_least_float32, read_weights, write_weights
from .weights import named_parameters

# What torch.optim calls the moments.
STATE_NAMES = {"m": "exp_avg", "v": "exp_avg_sq", "momentum": "momentum_buffer"}


class TorchTrainer(Trainer):
    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.tensors = [parameter.value for parameter in self.parameters.values()]
        self.device = self.tensors[0].device
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.updated = [at_least_float32(tensor) for tensor in self.tensors]
        self.optimizer = build_optimizer(self.updated, options)

    def run_step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None) -> Tensor:
        tensors = [None if array is None else torch.as_tensor(array).to(self.device) for array in batch]
        source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
        if not self.model.training:
            self.model.train()
        seeded = seeded_dropout(self.model, self.options.seed, self.step_count, batch)
        with seeded, injected_dropout(self.model, dropout_masks):
            logits, _ = self.model(source, target_in, source_valid_lens)
            loss = self.loss(logits, target_out, target_valid_lens).sum()
        for tensor in self.tensors:
            tensor.grad = None
        loss.backward()
        self._apply()
        return loss.detach()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        for name, parameter in self.parameters.items():
            parameter.value.grad = parameter.native(gradients[name])
        self._apply()

    def _apply(self) -> None:
        read_weights(self.updated, self.tensors)
        if self.options.clip_norm is not None:
            gradients = [tensor.grad for tensor in self.updated if tensor.grad is not None]
            clip_gradients(gradients, self.options.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        self.optimizer.step()
        write_weights(self.updated, self.tensors)
        self.step_count += 1

    def moments(self, slot: str) -> Iterable[Tensor]:
        # SGD without momentum keeps none: its velocity is the last gradient.
        last = slot == "momentum" and self.options.momentum == 0.0
        for tensor in self.updated:
            moment = tensor.grad if last else self.optimizer.state[tensor].get(STATE_NAMES[slot])
            yield torch.zeros_like(tensor) if moment is None else moment

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        for (name, parameter), tensor in zip(self.parameters.items(), self.updated, strict=True):
            state = self.optimizer.state[tensor]
            state[STATE_NAMES[slot]] = torch.tensor(parameter.layout(moments[name])).to(tensor)
            # torch keeps the count as a float32 tensor, with each parameter.
            state["step"] = torch.tensor(float(self.step_count), dtype=torch.float32, device=self.device)
