"""Batch normalization in gluon."""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet import autograd
from mxnet import np as mnp
from mxnet.gluon import nn


def batch_norm(X: np.ndarray) -> np.ndarray:
    layer = nn.BatchNorm()
    layer.initialize()
    with autograd.record():
        output = layer(mnp.array(X))
    return output.asnumpy()


def batch_norm_called(X: np.ndarray) -> np.ndarray:
    layer = nn.BatchNorm()
    layer.initialize()
    return layer(mnp.array(X)).asnumpy()


def batch_norm_state(X: np.ndarray, **momentum: Any) -> tuple[Any, Any]:
    layer = nn.BatchNorm(**momentum)
    layer.initialize()
    with autograd.record():
        output = layer(mnp.array(X))
    output.backward()  # which is what moves the running statistics
    return layer.running_mean.data().asnumpy(), layer.running_var.data().asnumpy()


def batch_norm_forward(X: np.ndarray) -> Any:
    layer = nn.BatchNorm()
    layer.initialize()
    with autograd.record():
        layer(mnp.array(X)).wait_to_read()
    return layer.running_mean.data().asnumpy()
