"""A training step: forward, backward, clip, update."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from transformer_mb.distributed import Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .rounding import rounded_products
from .weights import named_parameters


class NumPyTrainer(Trainer):
    """``bf16`` and ``tf32`` are arithmetic in float32 with matrix products rounded: they take longer."""

    precisions = ("full", "bf16", "tf32")

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.rounded_to = {"bf16": "bfloat16", "tf32": "tf32"}.get(options.precision)
        self.optimizer = build_optimizer([parameter.holder for parameter in self.parameters.values()], options)

    def run_batch(self, share: Share, part: int, last: bool) -> np.floating:
        batch = share.batch
        if not self.model.training:
            self.model.train()
        if part == 0:
            self.optimizer.whole.gradient.fill(0.0)
        seeded = seeded_dropout(self.model, self.dropout_seed, self.dropout_step(part), batch)
        with seeded, injected_dropout(self.model, share.dropout_masks), rounded_products(self.rounded_to):
            logits, _ = self.model(batch.source, batch.target_in, batch.source_valid_lens)
            losses = self.loss(logits, batch.target_out, batch.target_valid_lens)
            self.model.backward(self.loss.backward(np.full_like(losses, share.weight)))
        if last:
            if self.processes.size > 1:
                self.optimizer.whole.gradient[...] = self.processes.reduce(self.optimizer.whole.gradient)
            self._apply()
        return (losses * share.weight).sum()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        for name, parameter in self.parameters.items():
            parameter.holder.gradient[...] = gradients[name]
        self._apply()

    def _apply(self) -> None:
        if self.options.clip_norm is not None:
            clip_gradients([self.optimizer.whole.gradient], self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(self.learning_rate, self.step_count)

    def moments(self, slot: str) -> Iterable[np.ndarray]:
        shapes = [parameter.shape for parameter in self.parameters.values()]
        pieces = np.split(self.optimizer.slots[slot], np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        self.optimizer.slots[slot][...] = np.concatenate([np.ravel(moments[name]) for name in self.parameters])
