"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import tensorflow as tf

from transformer_mb.decoding.sampling import Truncation


def uniforms(seeds: tf.Tensor, steps: int) -> tf.Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""

    def row(seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform((steps,), seed)

    return tf.map_fn(row, seeds, fn_output_signature=tf.TensorSpec((steps,), tf.float32))


def drawn(logits: tf.Tensor, uniform: tf.Tensor, truncation: Truncation) -> tf.Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = tf.cast(logits, tf.float32) if logits.dtype in (tf.bfloat16, tf.float16) else logits
    falling, ids = tf.math.top_k(logits, logits.shape[-1])  # which promises the lower id first
    weights = tf.exp((falling - falling[:, :1]) / tf.cast(truncation.temperature, logits.dtype))
    weights = tf.where(tf.range(logits.shape[-1]) < truncation.top_k, weights, 0.0)
    before = tf.cumsum(weights, axis=-1, exclusive=True)
    share = tf.cast(truncation.top_p, logits.dtype)
    weights = tf.where(before < share * tf.reduce_sum(weights, axis=-1, keepdims=True), weights, 0.0)
    total = tf.cumsum(weights, axis=-1)
    place = tf.math.count_nonzero(total <= tf.cast(uniform, total.dtype)[:, None] * total[:, -1:], axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = tf.minimum(place, tf.math.count_nonzero(weights, axis=-1) - 1)
    return tf.cast(tf.gather(ids, place, batch_dims=1), tf.int64)
