"""Cross-entropy masked by valid length."""

from __future__ import annotations

from functools import lru_cache

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, npx
from mxnet import np as mnp

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate
from transformer_mb.layer_calls import Called

from .given import floats, lengths, token_ids


class MaskedSoftmaxCELoss(Called, gluon.loss.Loss):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        super().__init__(weight=None, batch_axis=0)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: mnp.ndarray, label: mnp.ndarray, valid_len: mnp.ndarray) -> mnp.ndarray:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        step_losses = -_log_probability(pred, label)
        if self.label_smoothing:
            # The mean of all log-probabilities is that of the label, less how far its logit is above the mean.
            step_losses = step_losses + (npx.pick(pred, label) - pred.mean(axis=-1)) * self.label_smoothing
        sums = npx.sequence_mask(step_losses, valid_len, use_sequence_length=True, axis=1).sum(axis=1)
        return sums / (T if self.normalization == "steps" else npx.cast(mnp.maximum(valid_len.sum(), 1), dtype=pred.dtype))


def _log_probability(pred: mnp.ndarray, label: mnp.ndarray) -> mnp.ndarray:
    """Return the log-probability of each label [B, T], from logits [B, T, V].

    MXNet's float32 log_softmax is 1e-6 off, and its gradient 8e-6; its softmax is exact, but 0 where a probability is too
    small. So the value is the logarithm of a probability where there is one, and the gradient, which is the label's
    place less the probabilities, that of a term of value 0. To compose all this takes five times as long (measured).
    """
    B, T, V = pred.shape
    recording = autograd.is_recording()
    with autograd.pause():
        probabilities = npx.softmax(pred)
        chosen = npx.pick(probabilities, label)
        there = npx.cast(chosen > np.finfo(chosen.dtype).tiny ** 0.5, dtype=pred.dtype)
        value = mnp.log(chosen * there + (1.0 - there)) + npx.pick(npx.log_softmax(pred), label) * (1.0 - there)
        if not recording:
            return value
    # A sum by way of a matrix product, whose backward is not MXNet's slow one of a sum.
    ones = _ones(V, np.dtype(pred.dtype).name, pred.ctx)
    mean = npx.fully_connected(probabilities * pred, ones, num_hidden=1, no_bias=True, flatten=False)
    term = npx.pick(pred, label) - mean.reshape(B, T)
    with autograd.pause():
        origin = term * 1.0
    return value + (term - origin)


@lru_cache(maxsize=16)
def _ones(size: int, dtype: str, context: mx.Context) -> mnp.ndarray:
    return mnp.ones((1, size), dtype=dtype, ctx=context)
