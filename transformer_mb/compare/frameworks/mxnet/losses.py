"""Losses in gluon, on arrays of mxnet.np: HuberLoss and KLDivLoss know only the older mxnet.nd, and raise."""

from __future__ import annotations

import numpy as np
from mxnet import autograd
from mxnet import np as mnp
from mxnet.gluon import loss


def binary_cross_entropy(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return loss.SigmoidBinaryCrossEntropyLoss()(mnp.array(scores), mnp.array(targets)).asnumpy()


def binary_cross_entropy_probabilities(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    function = loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)
    return function(mnp.array(probabilities), mnp.array(targets)).asnumpy()


def binary_cross_entropy_gradient(probabilities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    p = mnp.array(probabilities)
    p.attach_grad()
    with autograd.record():
        result = loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)(p, mnp.array(targets))
    result.backward()
    return p.grad.asnumpy()


def squared_error(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return loss.L2Loss()(mnp.array(predictions), mnp.array(targets)).asnumpy()


def huber(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return loss.HuberLoss()(mnp.array(predictions), mnp.array(targets)).asnumpy()


def kl_divergence(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return loss.KLDivLoss()(mnp.log(mnp.array(predictions)), mnp.array(targets)).asnumpy()
