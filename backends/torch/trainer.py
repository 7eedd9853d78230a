"""A training step: forward, backward, clip, update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_mb.batch import Batch
from transformer_mb.distributed import Processes, Share
from transformer_mb.errors import ConfigError
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import Float32Copies, build_optimizer, clip_gradients
from .settings import tf32
from .sharding import in_parts, part, release, whole
from .shortcuts.compiled_loss import batch_loss, compiled_loss
from .shortcuts.random_masks import drawn_masks
from .shortcuts.threads import suit
from .weights import named_parameters

# What torch.optim calls the moments.
STATE_NAMES = {"m": "exp_avg", "v": "exp_avg_sq", "momentum": "momentum_buffer"}


def _without_full_lengths(batch: Batch) -> Batch:
    """A batch whose sources have no padding, without their lengths: a GPU's fastest attention takes no mask."""
    source, lens = batch[:2]
    full = source is not None and lens is not None and bool((lens == source.shape[1]).all())
    return batch._replace(source_valid_lens=None) if full else batch


class TorchTrainer(Trainer):
    precisions = ("full", "bf16", "tf32")
    compiles = True

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.device = next(model.parameters()).device
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self._train(model)

    def _train(self, model: EncoderDecoder) -> None:
        """Set which model the steps change: the given one, or its like in parts."""
        self.trained, self.parameters = model, named_parameters(model)
        self.tensors = [parameter.value for parameter in self.parameters.values()]
        self.copies = Float32Copies(self.tensors)
        self.updated = self.copies.tensors
        self.optimizer = build_optimizer(self.updated, self.options)
        self.compute = compiled_loss(model, self.loss) if self.options.compile else partial(batch_loss, model, self.loss)

    def join(self, processes: Processes) -> None:
        if processes.sharded and self.options.compile:
            raise ConfigError("compile must be false where processes keep the weights in parts, got true.")
        super().join(processes)
        if processes.sharded:
            self._train(in_parts(self.model, self.device, processes.size))

    @torch.no_grad()
    def _gather(self) -> None:
        for parameter, tensor in zip(named_parameters(self.model).values(), self.tensors, strict=True):
            parameter.holder.data = whole(tensor.detach())

    def run_batch(self, share: Share, part: int, last: bool) -> Tensor:
        products = tf32() if self.options.precision == "tf32" else nullcontext()
        with suit(self.device, self.model.config, share.batch.target_in.size), products:
            return self._run_batch(share, part, last)

    def _run_batch(self, share: Share, part: int, last: bool) -> Tensor:
        batch = share.batch if self.device.type == "cpu" else _without_full_lengths(share.batch)
        tensors = [None if array is None else torch.as_tensor(array).to(self.device) for array in batch]
        if self.trained is not self.model:
            release(self.model)
        if not self.trained.training:
            self.trained.train()
        if part == 0:
            self._forget_gradients()  # before the forward, whose results need the memory
        # The backward, outside of it, computes each product as its forward did.
        bf16 = torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.precision == "bf16")
        with seeded_dropout(self.trained, self.dropout_seed, self.dropout_step(part), share.batch), bf16:
            masks: Mapping[str, Any] | None = share.dropout_masks
            if masks is None and self.options.compile and self.device.type == "cpu":
                masks = drawn_masks(self.model.config, share.batch)
            with injected_dropout(self.trained, masks):
                loss = self.compute(*tensors) * share.weight
        loss.backward()
        self.copies.add_gradients()
        if last:
            if not self.processes.sharded:  # else the backward itself has added up
                self.processes.reduce(self._gradients())
            self._apply()
        return loss.detach()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        self._forget_gradients()
        for name, parameter in self.parameters.items():
            if parameter.trained:
                parameter.value.grad = parameter.native(gradients[name])
        self.copies.add_gradients()
        self._apply()

    def _forget_gradients(self) -> None:
        for tensor in (*self.tensors, *self.updated):
            tensor.grad = None

    def _gradients(self) -> list[Tensor]:
        return [tensor.grad for tensor in self.updated if tensor.grad is not None]

    def _apply(self) -> None:
        self.copies.read()
        gradients = self._gradients()
        if self.options.clip_norm is not None:
            clip_gradients(gradients, self.options.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate
        self.optimizer.step()
        self.copies.write()
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
            moment = torch.tensor(parameter.layout(moments[name])).to(tensor.device, tensor.dtype)
            state[STATE_NAMES[slot]] = part(moment, tensor)
            # torch keeps the count as a float32 tensor, with each parameter: beside it where the update is one pass.
            beside = self.device if self.optimizer.param_groups[0]["fused"] else "cpu"
            state["step"] = torch.tensor(float(self.step_count), dtype=torch.float32, device=beside)
