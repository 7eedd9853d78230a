"""A training step, compiled as a whole: forward, backward, clip, update.

It is compiled without XLA: on a CPU the D2L step takes longer with it, and each new shape over 20 s to compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

from transformer_mb.distributed import Processes, Share
from transformer_mb.trainer import Trainer, TrainerOptions

from .dense import bfloat16_products
from .dropout import injected_dropout, seeded_dropout
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .optimizers import build_optimizer, clip_gradients
from .weights import named_variables


class TensorFlowTrainer(Trainer):
    precisions = ("full", "bf16")
    compiles = True
    always_compiles = True

    def __init__(self, model: EncoderDecoder, options: TrainerOptions):
        super().__init__(model, named_variables(model), options)
        self.tensors = [parameter.value for parameter in self.unfrozen.values()]
        self.device = self.tensors[0].device
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.tensors, options)
        # The first shape is compiled as it is; when others come, once more for all sizes together.
        self._compiled = tf.function(self._whole_step, autograph=False, reduce_retracing=True)
        self._sums: list[tf.Variable] = []  # of the gradients of a step's batches before the last

    def join(self, processes: Processes) -> None:
        super().join(processes)
        together: Any = processes
        if processes.size > 1:
            self._compiled = together.compiled(self._whole_step)

    def run_batch(self, share: Share, part: int, last: bool) -> tf.Tensor:
        self._check_unfrozen()
        masks = None if share.dropout_masks is None else dict(share.dropout_masks)
        if part == 0 and not last:
            self._sums = self._sums or self.optimizer.zeros()
            for total in self._sums:
                total.assign(tf.zeros_like(total))
        with tf.device(self.device):
            # Python numbers would be constants of the compiled step; whether it ends a step, and is all of it, is one.
            numbers = self._rates(), np.int64(self.dropout_step(part)), np.float64(share.weight)
            loss = self._compiled(tuple(share.batch), masks, *numbers, part == 0 and last, last)
        self.step_count += last
        return loss

    def _whole_step(
        self,
        batch: Any,
        dropout_masks: Mapping[str, tf.Tensor] | None,
        rates: tf.Tensor,
        dropout_step: tf.Tensor,
        weight: tf.Tensor,
        alone: bool,
        last: bool,
    ) -> tf.Tensor:
        source, source_valid_lens, target_in, target_out, target_valid_lens = batch
        seeded: AbstractContextManager[None] = nullcontext()
        if dropout_masks is None:
            seeded = seeded_dropout(self.model, self.dropout_seed, dropout_step, batch)
        products = bfloat16_products(self.options.precision == "bf16")
        with seeded, injected_dropout(self.model, dropout_masks), products, tf.GradientTape() as tape:
            logits, _ = self.model(source, target_in, source_valid_lens, training=True)
            loss = tf.reduce_sum(self.loss(logits, target_out, target_valid_lens))
            loss *= tf.cast(weight, loss.dtype)
        # An embedding's gradient comes as slices; Adam moves the other rows too.
        gradients = tape.gradient(loss, self.tensors, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        gradients = self.optimizer.flatten([tf.cast(tf.convert_to_tensor(gradient), self._dtype) for gradient in gradients])
        if not alone:
            gradients = [total + gradient for total, gradient in zip(self._sums, gradients, strict=True)]
        if last:
            self._apply(self.processes.reduce(gradients), rates)
        else:
            for total, gradient in zip(self._sums, gradients, strict=True):
                total.assign(gradient)
        return loss

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        with tf.device(self.device):
            self._apply(self.optimizer.flatten(self._moments(gradients)), self._rates())
        self.step_count += 1

    def _apply(self, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> None:
        if self.options.clip_norm is not None:
            gradients = clip_gradients(gradients, self.options.clip_norm)
        self.optimizer.step(gradients, rates)

    def _rates(self) -> np.ndarray:
        return self.optimizer.rates(self.learning_rate, self.step_count + 1)

    @property
    def _dtype(self) -> tf.DType:
        """The dtype of moments and of an update's arithmetic: for parameters of low precision float32."""
        return next(iter(self.optimizer.slots.values()))[0].dtype

    def _moments(self, arrays: Mapping[str, np.ndarray]) -> list[tf.Tensor]:
        return [tf.cast(parameter.layout(arrays[name]), self._dtype) for name, parameter in self.unfrozen.items()]

    def moments(self, slot: str) -> Iterable[tf.Tensor]:
        kept = dict(zip(self.unfrozen, self.optimizer.split(self.optimizer.slots[slot]), strict=True))
        for name, parameter in self.parameters.items():
            yield kept[name] if name in kept else tf.zeros(parameter.value.shape, self._dtype)

    def load_moments(self, slot: str, moments: Mapping[str, np.ndarray]) -> None:
        for variable, moment in zip(self.optimizer.slots[slot], self.optimizer.flatten(self._moments(moments)), strict=True):
            variable.assign(moment)
