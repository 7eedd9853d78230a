"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.shapes import check_dropout_paths, check_same

from .weights import named_layers


@keras.saving.register_keras_serializable("transformer_mb")
class Dropout(keras.layers.Dropout):
    """keras.layers.Dropout, or the elements that ``keep`` says, or those that ``key`` draws, where that is set."""

    keep: tf.Tensor | None = None
    key: tf.Tensor | None = None

    def __init__(self, rate: float, **kwargs):
        super().__init__(rate, **kwargs)
        self.autocast = False  # the dtype is that of the input

    def call(self, X: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        if not training or self.rate == 0.0:
            return X
        keep = self.keep
        if keep is not None:
            if not X.shape.is_compatible_with(keep.shape):
                check_same("The dropout mask", keep.shape, "its input", X.shape)
        elif self.key is not None:
            keep = tf.random.stateless_uniform(tf.shape(X), self.key) >= self.rate
        else:
            return super().call(X, training=True)
        return X * tf.cast(keep, X.dtype) * (1.0 / (1.0 - self.rate))


@contextmanager
def injected_dropout(module: keras.layers.Layer, masks: Mapping[str, np.ndarray | tf.Tensor] | None) -> Iterator[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    if masks is None:
        yield
        return
    sites = {path: sub for path, sub in named_layers(module) if isinstance(sub, Dropout) and sub.rate > 0.0}
    check_dropout_paths(masks, sites)
    try:
        for path, dropout in sites.items():
            dropout.keep = tf.convert_to_tensor(masks[path])
        yield
    finally:
        for dropout in sites.values():
            dropout.keep = None
