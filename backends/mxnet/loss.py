"""Cross-entropy masked by valid length."""

from __future__ import annotations

from mxnet import gluon, npx
from mxnet import np as mnp

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate

from .given import floats, lengths, token_ids


class MaskedSoftmaxCELoss(gluon.loss.Loss):
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
    """Of each label. Composed, because MXNet's float32 log_softmax is 1e-6 off, and its gradient 8e-6.

    What flows back through the maximum is the sum of all gradients of a row, which is zero; no operator would stop it.
    """
    pred = pred - pred.max(axis=-1, keepdims=True)
    return npx.pick(pred, label) - mnp.log(mnp.exp(pred).sum(axis=-1))
