"""Cross-entropy masked by valid length."""

from __future__ import annotations

from mxnet import gluon, npx
from mxnet import np as mnp


class MaskedSoftmaxCELoss(gluon.loss.Loss):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        super().__init__(weight=None, batch_axis=0)
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: mnp.ndarray, label: mnp.ndarray, valid_len: mnp.ndarray) -> mnp.ndarray:
        T, V = pred.shape[1:]
        log_probs = npx.log_softmax(pred)
        step_losses = npx.pick(log_probs, label) * (self.label_smoothing - 1.0)
        if self.label_smoothing:
            step_losses = step_losses - log_probs.sum(axis=-1) * (self.label_smoothing / V)
        sums = npx.sequence_mask(step_losses, valid_len, use_sequence_length=True, axis=1).sum(axis=1)
        return sums / (T if self.normalization == "steps" else valid_len.sum().astype(pred.dtype))
