"""keras.losses, whose classes take the targets first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import losses

from ..calls import Table
from .arrays import called, gradient


def loss(made: Callable[..., Any], **options: Any) -> Callable[[Any, Any], Any]:
    """Return a function of predictions and targets that makes a loss and calls it."""
    return lambda predictions, targets: made(**options)(targets, predictions)


cross_entropy = loss(losses.SparseCategoricalCrossentropy, from_logits=True)


def cross_entropy_ignoring(logits: Any, labels: Any, ignored: int) -> Any:
    return losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=ignored)(labels, logits)


def cross_entropy_smoothed(logits: Any, labels: Any, smoothing: float) -> Any:
    one_hot = keras.utils.to_categorical(labels, logits.shape[-1])
    return losses.CategoricalCrossentropy(from_logits=True, label_smoothing=smoothing)(one_hot, logits)


TABLES: dict[str, Table] = {
    "cross_entropy": called(
        cross_entropy=cross_entropy,
        cross_entropy_called=loss(losses.SparseCategoricalCrossentropy),
        cross_entropy_ignoring=cross_entropy_ignoring,
        cross_entropy_smoothed=cross_entropy_smoothed,
        cross_entropy_half=lambda logits, labels: cross_entropy(tf.cast(logits, tf.float16), labels).dtype.name,
        cross_entropy_bfloat16=lambda logits, labels: cross_entropy(tf.cast(logits, tf.bfloat16), labels).dtype.name,
    ),
    "losses": called(
        binary_cross_entropy=loss(losses.BinaryCrossentropy),
        binary_cross_entropy_probabilities=loss(losses.BinaryCrossentropy),
        binary_cross_entropy_gradient=gradient(loss(losses.BinaryCrossentropy)),
        squared_error=loss(losses.MeanSquaredError),
        huber=loss(losses.Huber),
        kl_divergence=loss(losses.KLDivergence),
    ),
}
