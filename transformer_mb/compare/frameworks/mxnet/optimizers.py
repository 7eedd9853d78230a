"""gluon.Trainer with MXNet's optimizers, and gluon's clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp

ABSENT = {"adamw": "MXNet 1.9.1 has no optimizer AdamW, only an operator that is told its decay."}


def _run(
    optimizer: str, W: np.ndarray, gradients: Sequence[np.ndarray], rates: Sequence[float] = (), **settings: Any
) -> np.ndarray:
    """The weights after each step: [steps, weights]."""
    weights = gluon.Parameter("weights", shape=W.shape)
    weights.initialize()
    weights.set_data(mnp.array(W))
    trainer = gluon.Trainer([weights], optimizer, settings)
    after = []
    for i, gradient in enumerate(gradients):
        if rates:
            trainer.set_learning_rate(rates[i])
        with autograd.record():
            loss = (weights.data() * mnp.array(gradient)).sum()
        loss.backward()
        trainer.step(1)
        after.append(weights.data().asnumpy())
    return np.stack(after)


def adam(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run("adam", W, gradients, learning_rate=learning_rate)


def adam_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run("adam", W, gradients)


def sgd_by_default(W: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
    return _run("sgd", W, gradients)


def adam_with_weight_decay(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float, weight_decay: float
) -> np.ndarray:
    return _run("adam", W, gradients, learning_rate=learning_rate, wd=weight_decay)


def rmsprop(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run("rmsprop", W, gradients, learning_rate=learning_rate)


def adagrad(W: np.ndarray, gradients: Sequence[np.ndarray], learning_rate: float) -> np.ndarray:
    return _run("adagrad", W, gradients, learning_rate=learning_rate)


def sgd_with_momentum(
    W: np.ndarray, gradients: Sequence[np.ndarray], learning_rates: Sequence[float], momentum: float
) -> np.ndarray:
    return _run("sgd", W, gradients, learning_rates, momentum=momentum)


def clip_by_norm(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
    """clip_global_norm, gluon's only one."""
    arrays = [mnp.array(gradient).as_nd_ndarray() for gradient in gradients]
    gluon.utils.clip_global_norm(arrays, norm)
    return [array.asnumpy() for array in arrays]


clip_by_global_norm = clip_by_norm
