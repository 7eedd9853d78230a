"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import injected

from .weights import named_layers


@keras.saving.register_keras_serializable("transformer_mb")
class Dropout(keras.layers.Dropout):
    """keras.layers.Dropout; uses the mask ``keep``, or one drawn from ``key``, when that is set."""

    keep: tf.Tensor | None = None
    key: tf.Tensor | None = None

    def __init__(self, rate: float, **kwargs: Any):
        check_rate("dropout", rate)
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
        return X * (tf.cast(keep, X.dtype) * (1.0 / (1.0 - self.rate)))


def dropouts(module: keras.layers.Layer) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in named_layers(module) if isinstance(sub, Dropout) and sub.rate > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, np.ndarray | tf.Tensor] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, tf.convert_to_tensor)


@contextmanager
def seeded_dropout(model: keras.Model, seed: int, step: tf.Tensor, batch: Any) -> Iterator[None]:
    """Inside, what is dropped depends on the seed, the step and the layer's path alone.

    The seed generators of Keras would be advanced by it, and cannot be set to a step.
    """
    layers = dropouts(model)
    try:
        for path, dropout in layers.items():
            digest = hashlib.sha256(f"{seed}/{path}".encode()).digest()
            dropout.key = tf.stack([int.from_bytes(digest[:8], "little", signed=True), step])
        yield
    finally:
        for dropout in layers.values():
            dropout.key = None
