"""gluon's losses, on arrays of mxnet.np: HuberLoss and KLDivLoss know only the older mxnet.nd, and raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from mxnet import np as mnp
from mxnet.gluon import loss as losses

from ..calls import Table
from .arrays import by_default, called, gradient


def loss(made: Callable[..., Any], **options: Any) -> Callable[[Any, Any], Any]:
    """Return a function of predictions and targets that makes a loss and calls it."""
    return lambda predictions, targets: made(**options)(predictions, targets)


cross_entropy = loss(losses.SoftmaxCrossEntropyLoss)
of_probabilities = loss(losses.SigmoidBinaryCrossEntropyLoss, from_sigmoid=True)

TABLES: dict[str, Table] = {
    "cross_entropy": by_default(
        cross_entropy=cross_entropy,
        cross_entropy_called=cross_entropy,
        cross_entropy_ignoring="gluon's cross-entropy takes no label to ignore.",
        cross_entropy_smoothed="gluon's cross-entropy does not smooth labels.",
        cross_entropy_half=lambda logits, labels: numpy.dtype(cross_entropy(logits.astype("float16"), labels).dtype).name,
        cross_entropy_bfloat16="mxnet.np has no bfloat16.",
    ),
    "losses": called(
        binary_cross_entropy=loss(losses.SigmoidBinaryCrossEntropyLoss),
        binary_cross_entropy_probabilities=of_probabilities,
        binary_cross_entropy_gradient=gradient(of_probabilities),
        squared_error=loss(losses.L2Loss),
        huber=loss(losses.HuberLoss),
        kl_divergence=lambda predictions, targets: losses.KLDivLoss()(mnp.log(predictions), targets),
    ),
}
