"""Cross-entropy masked by valid length."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate
from transformer_mb.layer_calls import Called

from .given import floats, lengths, token_ids


@keras.saving.register_keras_serializable("transformer_mb")
class MaskedSoftmaxCELoss(Called, keras.layers.Layer):
    """A layer rather than a keras.losses.Loss, whose call has no place for ``valid_len``."""

    _every_call = ("training",)

    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps", **kwargs: Any):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        super().__init__(**kwargs)
        self._allow_non_tensor_positional_args = True  # lists of labels and lengths
        self.autocast = False  # the dtype is that of ``pred``
        self.label_smoothing = label_smoothing
        self.normalization = normalization
        self.built = True

    def call(self, pred: tf.Tensor, label: tf.Tensor, valid_len: tf.Tensor) -> tf.Tensor:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = keras.ops.shape(pred)
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        if pred.dtype in (tf.bfloat16, tf.float16):
            pred = tf.cast(pred, tf.float32)
        step_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(label, pred)
        if self.label_smoothing:
            uniform = -tf.reduce_mean(tf.nn.log_softmax(pred), axis=-1)
            step_losses = (1.0 - self.label_smoothing) * step_losses + self.label_smoothing * uniform
        valid = tf.range(T, dtype=valid_len.dtype) < valid_len[:, None]
        sums = tf.reduce_sum(tf.where(valid, step_losses, 0.0), axis=1)
        divisor = T if self.normalization == "steps" else tf.maximum(tf.reduce_sum(valid_len), 1)
        return sums / tf.cast(divisor, sums.dtype)
