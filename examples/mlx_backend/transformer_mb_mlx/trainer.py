"""A training step: forward, backward, clip, update."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.distributed import Share
from transformer_mb.trainer import SLOTS, Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .framework import differentiated, in_place_of
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .weights import named_parameters


class MLXTrainer(Trainer):
    """Adam (Kingma & Ba 2015, Algorithm 1), AdamW and SGD, parameter by parameter."""

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.holders = [parameter.holder for parameter in self.parameters.values()]
        self.gradients = [mx.zeros_like(holder.value) for holder in self.holders]
        self.kept = {slot: list(map(mx.zeros_like, self.gradients)) for slot in SLOTS[options.optimizer]}

    def run_batch(self, share: Share, part: int, last: bool) -> Any:
        batch = share.batch
        if not self.model.training:
            self.model.train()

        def compute(values: list[Any]) -> Any:
            with in_place_of(self.holders, values):
                logits, _ = self.model(batch.source, batch.target_in, batch.source_valid_lens)
            return mx.sum(self.loss(logits, batch.target_out, batch.target_valid_lens)) * share.weight

        values = [holder.value for holder in self.holders]
        with (
            seeded_dropout(self.model, self.dropout_seed % 2**64, self.dropout_step(part)),
            injected_dropout(self.model, share.dropout_masks),
        ):
            loss, gradients = differentiated(compute, values, mx.array(1.0, values[0].dtype))
        self.gradients = gradients if part == 0 else [old + new for old, new in zip(self.gradients, gradients, strict=True)]
        if last:
            self._apply()
        return loss

    def update(self, gradients: Mapping[str, numpy.ndarray]) -> None:
        self.gradients = [parameter.native(gradients[name]) for name, parameter in self.parameters.items()]
        self._apply()

    def _apply(self) -> None:
        clip, norm = self.options.clip_norm, math.sqrt(sum(float(mx.sum(g * g)) for g in self.gradients))
        scale = 1.0 if clip is None or norm <= clip else clip / norm
        self.step_count += 1
        step = self._sgd if self.options.optimizer == "sgd" else self._adam
        for i, (holder, gradient) in enumerate(zip(self.holders, self.gradients, strict=True)):
            holder.value, *new = step(holder.value, gradient * scale, *(moments[i] for moments in self.kept.values()))
            for moments, moment in zip(self.kept.values(), new, strict=True):
                moments[i] = moment
        mx.eval([holder.value for holder in self.holders], *self.kept.values())

    def _adam(self, weight: Any, gradient: Any, m: Any, v: Any) -> tuple[Any, ...]:
        (beta1, beta2), rate = self.options.betas, self.learning_rate
        m = beta1 * m + (1.0 - beta1) * gradient
        v = beta2 * v + (1.0 - beta2) * gradient * gradient
        root = mx.sqrt(v / (1.0 - beta2**self.step_count)) + self.options.eps
        weight = weight * (1.0 - rate * self.options.weight_decay)
        return weight - rate * (m / (1.0 - beta1**self.step_count)) / root, m, v

    def _sgd(self, weight: Any, gradient: Any, momentum: Any) -> tuple[Any, ...]:
        momentum = self.options.momentum * momentum + gradient
        return weight - self.learning_rate * momentum, momentum

    def moments(self, slot: str) -> Iterable[numpy.ndarray]:
        return self.kept[slot]

    def load_moments(self, slot: str, moments: Mapping[str, numpy.ndarray]) -> None:
        self.kept[slot] = [parameter.native(moments[name]) for name, parameter in self.parameters.items()]
