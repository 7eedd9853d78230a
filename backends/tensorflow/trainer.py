"""One training step, compiled as a whole: forward, backward, clip, update.

It is compiled without XLA: on two CPU cores the D2L step took as long with it, and each new shape over 20 s to compile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.trainer import SLOTS, Batch, Trainer, TrainerOptions

from .dropout import Dropout, injected_dropout
from .loss import MaskedSoftmaxCELoss
from .optimizers import build_optimizer
from .weights import named_layers, named_parameters


class TensorFlowTrainer(Trainer):
    def __init__(self, model: keras.Model, options: TrainerOptions):
        self.model = model
        self.options = options
        self.learning_rate = options.learning_rate
        self.step_count = 0
        self.parameters = named_parameters(model)
        self.variables = [parameter.variable.value for parameter in self.parameters.values()]
        self.device = self.variables[0].device
        self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization)
        self.optimizer = build_optimizer(self.variables, options)
        # The first shape is compiled as it is; when others come, once more for all sizes together.
        self._compiled = tf.function(self._whole_step, autograph=False, reduce_retracing=True)

    def step(self, batch: Batch, dropout_masks: Mapping[str, np.ndarray] | None = None) -> tf.Tensor:
        masks = None if dropout_masks is None else dict(dropout_masks)
        with tf.device(self.device):
            # Python numbers would be constants of the compiled step.
            loss = self._compiled(tuple(batch), masks, self._rates(), np.int64(self.step_count))
        self.step_count += 1
        return loss

    def _whole_step(self, batch, dropout_masks, rates, step_count):
        source, source_valid_lens, target_in, target_out, target_valid_lens = batch
        drawn = nullcontext() if dropout_masks is not None else _keyed_dropout(self.model, self.options.seed, step_count)
        with drawn, injected_dropout(self.model, dropout_masks), tf.GradientTape() as tape:
            logits, _ = self.model(source, target_in, source_valid_lens, training=True)
            loss = tf.reduce_sum(self.loss(logits, target_out, target_valid_lens))
        # An embedding's gradient comes as slices; Adam moves the other rows too.
        gradients = tape.gradient(loss, self.variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        self.optimizer.apply([tf.convert_to_tensor(gradient) for gradient in gradients], rates)
        return loss

    def update(self, gradients: Mapping[str, np.ndarray]) -> None:
        with tf.device(self.device):
            self.optimizer.apply(self._tensors(gradients), self._rates())
        self.step_count += 1

    def _rates(self) -> np.ndarray:
        return self.optimizer.rates(self.learning_rate, self.step_count + 1)

    def _tensors(self, arrays: Mapping[str, np.ndarray], prefix: str = "") -> list[tf.Tensor]:
        dtype = next(iter(self.optimizer.slots.values()))[0].dtype
        return [tf.cast(parameter.native(arrays[prefix + name]), dtype) for name, parameter in self.parameters.items()]

    def slots(self) -> dict[str, np.ndarray]:
        moments = {}
        for slot in SLOTS[self.options.optimizer]:
            for (name, parameter), value in zip(self.parameters.items(), self.optimizer.slots[slot], strict=True):
                moments[f"{slot}.{name}"] = parameter.canonical(value)
        return moments

    def load_slots(self, slots: Mapping[str, np.ndarray], step_count: int) -> None:
        for slot in SLOTS[self.options.optimizer]:
            for variable, value in zip(self.optimizer.slots[slot], self._tensors(slots, f"{slot}."), strict=True):
                variable.assign(value)


@contextmanager
def _keyed_dropout(model: keras.Model, seed: int, step_count: tf.Tensor) -> Iterator[None]:
    """Inside, what is dropped is a function of the seed, the step and the layer's path.

    The seed generators of Keras would be advanced by it, and cannot be set to a step.
    """
    sites = {path: sub for path, sub in named_layers(model) if isinstance(sub, Dropout) and sub.rate > 0.0}
    try:
        for path, dropout in sites.items():
            digest = hashlib.sha256(f"{seed}/{path}".encode()).digest()
            dropout.key = tf.stack([int.from_bytes(digest[:8], "little", signed=True), step_count])
        yield
    finally:
        for dropout in sites.values():
            dropout.key = None
