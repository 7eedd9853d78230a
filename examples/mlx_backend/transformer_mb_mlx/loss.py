"""Cross-entropy masked by valid length."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate

from .framework import Module, filled
from .given import floats, lengths, token_ids


class MaskedSoftmaxCELoss(Module):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: Any, label: Any, valid_len: Any) -> Any:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T)
        log_probs = log_softmax(pred)
        step_losses = -mx.take_along_axis(log_probs, mx.array(label)[..., None], axis=-1)[..., 0]
        if self.label_smoothing:
            uniform = -mx.mean(log_probs, axis=-1)
            step_losses = (1.0 - self.label_smoothing) * step_losses + self.label_smoothing * uniform
        sums = mx.sum(filled(step_losses, numpy.arange(T) < valid_len[:, None], 0.0), axis=1)
        return sums / (T if self.normalization == "steps" else max(int(valid_len.sum()), 1))


def log_softmax(X: Any) -> Any:
    X = X - mx.stop_gradient(X).max(axis=-1, keepdims=True)
    return X - mx.log(mx.sum(mx.exp(X), axis=-1, keepdims=True))
