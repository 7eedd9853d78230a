"""Cross-entropy masked by valid length."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.config import check_choice


class MaskedSoftmaxCELoss(nnx.Module):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def __call__(self, pred: Array, label: Array, valid_len: Array) -> Array:
        T = label.shape[1]
        log_probs = jax.nn.log_softmax(pred.astype(jnp.promote_types(pred.dtype, jnp.float32)))
        step_losses = -jnp.take_along_axis(log_probs, label[..., None], axis=-1)[..., 0]
        if self.label_smoothing:
            uniform = -log_probs.mean(axis=-1)
            step_losses = (1.0 - self.label_smoothing) * step_losses + self.label_smoothing * uniform
        valid = jnp.arange(T) < valid_len[:, None]
        sums = jnp.where(valid, step_losses, 0.0).sum(axis=1)
        return sums / (T if self.normalization == "steps" else valid_len.sum())
