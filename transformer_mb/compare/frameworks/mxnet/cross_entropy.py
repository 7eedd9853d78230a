"""Cross-entropy in gluon."""

from __future__ import annotations

import numpy as np
from mxnet import np as mnp
from mxnet.gluon import loss

ABSENT = {
    "cross_entropy_ignoring": "gluon's cross-entropy takes no label to ignore.",
    "cross_entropy_smoothed": "gluon's cross-entropy does not smooth labels.",
    "cross_entropy_bfloat16": "mxnet.np has no bfloat16.",
}


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return loss.SoftmaxCrossEntropyLoss()(mnp.array(logits), mnp.array(labels)).asnumpy()


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return cross_entropy(scores, labels)


def cross_entropy_half(logits: np.ndarray, labels: np.ndarray) -> str:
    result = loss.SoftmaxCrossEntropyLoss()(mnp.array(logits, dtype="float16"), mnp.array(labels))
    return np.dtype(result.dtype).name
