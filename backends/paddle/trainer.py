"""A training step: forward, backward, clip, update.

It runs as dynamic graph: compiled with paddle.jit.to_static the same step takes as long (measured, 2 CPU cores), after
5 seconds of compiling for each shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
import paddle
from paddle import Tensor

from transformer_mb.distributed import Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dropout import injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .shortcuts.threads import suit
from .weights import gradients, named_parameters


class PaddleTrainer(Trainer):
    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_parameters(model), options)
        self.tensors = [parameter.value for parameter in self.unfrozen.values()]
        self.place = self.tensors[0].place
        self.largest = max(math.prod(tensor.shape) for tensor in self.tensors)
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.tensors, options)
        self._sums: list[Tensor] = []  # of the gradients of a step's batches before the last

    def run_batch(self, share: Share, part: int, last: bool) -> Tensor:
        self._check_unfrozen()
        if not self.model.training:
            self.model.train()
        suit(self.largest)
        with paddle.device.device_guard(self.place):
            tensors = [None if array is None else paddle.to_tensor(array, place=self.place) for array in share.batch]
            source, source_valid_lens, target_in, target_out, target_valid_lens = tensors
            dropped: AbstractContextManager[None]
            if share.dropout_masks is None:
                dropped = seeded_dropout(self.model, self.dropout_seed, self.dropout_step(part), share.batch)
            else:
                dropped = injected_dropout(self.model, share.dropout_masks)
            with dropped:
                logits, _ = self.model(source, target_in, source_valid_lens)
                loss = self.loss(logits, target_out, target_valid_lens).sum() * share.weight
            vectors = self.optimizer.flatten(_given_away(gradients(loss, self.tensors)))
            if part:
                vectors = [total.add_(vector) for total, vector in zip(self._sums, vectors, strict=True)]
            self._sums = [] if last else vectors
            if last:
                self._apply(self.processes.reduce(vectors))
        return loss.detach()

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        native = [parameter.native(gradients[name]) for name, parameter in self.unfrozen.items()]
        self._apply(self.optimizer.flatten(native))

    @paddle.no_grad()
    def _apply(self, vectors: Sequence[Tensor]) -> None:
        if self.options.clip_norm is not None:
            clip_gradients(vectors, self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(vectors, self.learning_rate, self.step_count)

    def moments(self, slot: str) -> Iterable[Tensor]:
        kept = dict(zip(self.unfrozen, self.optimizer.split(self.optimizer.slots[slot]), strict=True))
        for name, parameter in self.parameters.items():
            yield kept[name] if name in kept else paddle.zeros_like(parameter.value)

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        tensors = [parameter.native(moments[name]) for name, parameter in self.unfrozen.items()]
        self.optimizer.slots[slot] = self.optimizer.flatten(tensors)


def _given_away(tensors: list[Tensor]) -> Iterator[Tensor]:
    """Yield each of them, freed where no name keeps it: gradients need as much memory as the weights."""
    tensors.reverse()
    while tensors:
        yield tensors.pop()
