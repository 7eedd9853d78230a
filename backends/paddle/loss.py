"""Cross-entropy masked by valid length."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.checks import check_labels, check_rank
from transformer_mb.config import check_choice, check_rate
from transformer_mb.layer_calls import Called

from .given import floats, lengths, token_ids


def log_sum_exp(logits: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials: [rows] of [rows, V].

    As a product with ones, which adds in blocks: Paddle's own sum adds one number after the other, and over 8,001 words loses a
    digit of scores and gradients.
    """
    return paddle.mv(logits.exp(), paddle.ones(logits.shape[-1:], logits.dtype)).log()


class MaskedSoftmaxCELoss(Called, nn.Layer):
    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"):
        check_choice("normalization", normalization)
        check_rate("label_smoothing", label_smoothing)
        super().__init__()
        self.label_smoothing = label_smoothing
        self.normalization = normalization

    def forward(self, pred: Tensor, label: Tensor, valid_len: Tensor) -> Tensor:
        check_rank("pred", pred, "[B, T, V]", 3)
        floats("pred", pred)
        B, T, V = pred.shape
        label = token_ids("label", label, V, pred)
        check_labels(label.shape, pred.shape)
        valid_len = lengths("valid_len", valid_len, [(B,)], T, pred)
        if pred.dtype in (paddle.bfloat16, paddle.float16):
            pred = pred.astype(paddle.float32)
        step_losses = self._step_losses(pred.flatten(0, 1), label.flatten().astype(paddle.int64)).reshape([B, T])
        valid = F.sequence_mask(valid_len, T, "bool")
        sums = paddle.where(valid, step_losses, paddle.zeros_like(step_losses)).sum(axis=1)
        # Paddle refuses to divide a float tensor by an int64 one.
        return sums / (T if self.normalization == "steps" else valid_len.sum().clip(min=1).astype(pred.dtype))

    def _step_losses(self, pred: Tensor, label: Tensor) -> Tensor:
        # Composed, because Paddle's own cross-entropy on the CPU never lets a log-probability fall below -64.
        pred = pred - pred.detach().max(axis=-1, keepdim=True)
        total = log_sum_exp(pred)
        losses = total + F.nll_loss(pred, label, reduction="none")
        if not self.label_smoothing:
            return losses
        return (1.0 - self.label_smoothing) * losses + self.label_smoothing * (total - pred.mean(axis=-1))
