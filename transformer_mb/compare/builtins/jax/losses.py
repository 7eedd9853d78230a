"""Optax's losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from optax import softmax_cross_entropy_with_integer_labels as cross_entropy

from ..calls import Table
from .arrays import called

LOGITS_ONLY = "optax takes logits only."


def cross_entropy_smoothed(logits: jax.Array, labels: jax.Array, smoothing: float) -> jax.Array:
    smooth = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), smoothing)
    return optax.softmax_cross_entropy(logits, smooth)


TABLES: dict[str, Table] = {
    "cross_entropy": called(
        cross_entropy=cross_entropy,
        cross_entropy_called=cross_entropy,
        cross_entropy_ignoring="optax takes no label to ignore: it returns every row's loss.",
        cross_entropy_smoothed=cross_entropy_smoothed,
        cross_entropy_half=lambda logits, labels: cross_entropy(logits.astype("float16"), labels).dtype.name,
        cross_entropy_bfloat16=lambda logits, labels: cross_entropy(logits.astype("bfloat16"), labels).dtype.name,
    ),
    "losses": called(
        binary_cross_entropy=optax.sigmoid_binary_cross_entropy,
        binary_cross_entropy_probabilities=LOGITS_ONLY,
        binary_cross_entropy_gradient=LOGITS_ONLY,
        squared_error=optax.l2_loss,
        huber=optax.huber_loss,
        kl_divergence=lambda predictions, targets: optax.kl_divergence(jnp.log(predictions), targets),
    ),
}
