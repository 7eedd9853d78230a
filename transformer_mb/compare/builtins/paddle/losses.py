"""paddle.nn.functional's losses, which the layers call."""

from __future__ import annotations

from paddle.nn import functional as F

from ..calls import Table
from .arrays import called, gradient

TABLES: dict[str, Table] = {
    "cross_entropy": called(
        cross_entropy=F.cross_entropy,
        cross_entropy_called=F.cross_entropy,
        cross_entropy_ignoring=lambda logits, labels, ignored: F.cross_entropy(logits, labels, ignore_index=ignored),
        cross_entropy_smoothed=lambda logits, labels, smoothing: F.cross_entropy(logits, labels, label_smoothing=smoothing),
        cross_entropy_half=lambda logits, labels: str(F.cross_entropy(logits.astype("float16"), labels).dtype),
        cross_entropy_bfloat16=lambda logits, labels: str(F.cross_entropy(logits.astype("bfloat16"), labels).dtype),
    ),
    "losses": called(
        binary_cross_entropy=F.binary_cross_entropy,
        binary_cross_entropy_probabilities=F.binary_cross_entropy,
        binary_cross_entropy_gradient=gradient(F.binary_cross_entropy),
        squared_error=F.mse_loss,
        huber=F.smooth_l1_loss,
        kl_divergence=lambda predictions, targets: F.kl_div(predictions.log(), targets),
    ),
}
