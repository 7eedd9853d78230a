"""Cross-entropy in gluon."""

from __future__ import annotations

import numpy as np
from mxnet import np as mnp
from mxnet.gluon import loss

ABSENT = {
    "cross_entropy_ignoring": "gluon's losses take no label to ignore.",
    "cross_entropy_smoothed": "gluon's losses do not smooth labels.",
}


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return loss.SoftmaxCrossEntropyLoss()(mnp.array(logits), mnp.array(labels)).asnumpy()


def cross_entropy_called(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return cross_entropy(scores, labels)


def cross_entropy_type(logits: np.ndarray, labels: np.ndarray, dtype: str) -> str:
    return np.dtype(loss.SoftmaxCrossEntropyLoss()(mnp.array(logits, dtype=dtype), mnp.array(labels)).dtype).name
