"""Cross-entropy masked by valid length."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate
from transformer_mb.layer_calls import Called

from .given import floats, lengths, token_ids


class MaskedSoftmaxCELoss(Called, nnx.Module):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def __call__(self, pred: Array, label: Array, valid_len: Array) -> Array:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        log_probs = jax.nn.log_softmax(pred.astype(jnp.promote_types(pred.dtype, jnp.float32)))
        # A choice by number is one pass with the rest; a lookup would have all of them written, and its gradient scattered.
        chosen = jnp.arange(V) == label[..., None]
        step_losses = jnp.where(chosen.any(axis=-1), -jnp.where(chosen, log_probs, 0.0).sum(axis=-1), jnp.nan)
        if self.label_smoothing:
            uniform = -log_probs.mean(axis=-1)
            step_losses = (1.0 - self.label_smoothing) * step_losses + self.label_smoothing * uniform
        valid = jnp.arange(T) < valid_len[:, None]
        sums = jnp.where(valid, step_losses, 0.0).sum(axis=1)
        return sums / (T if self.normalization == "steps" else jnp.maximum(valid_len.sum(), 1))
