"""gluon.nn, mx.init and mxnet.np.random."""

from __future__ import annotations

import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet import np as mnp
from mxnet.gluon import nn

ABSENT = {"truncated_normal": "MXNet 1.9.1 has no truncated normal distribution."}


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    mx.random.seed(seed)
    layer = nn.Dense(outputs, in_units=inputs)
    layer.initialize()
    return layer.weight.data().asnumpy(), layer.bias.data().asnumpy()


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    mx.random.seed(seed)
    layer = nn.Embedding(vocabulary, size)
    layer.initialize()
    return layer.weight.data().asnumpy()


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    initialize = mx.init.Xavier()
    first, second = mnp.zeros(shape), mnp.zeros(shape)
    for array in (first, second):
        initialize("weight", array)
    return first.asnumpy(), second.asnumpy()


def uniform(seed: int, count: int) -> np.ndarray:
    mx.random.seed(seed)
    return mnp.random.uniform(size=(count,)).asnumpy()


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    mx.random.seed(seed)
    return mnp.random.uniform(size=(count,)).asnumpy(), mnp.random.uniform(size=(count,)).asnumpy()


def normal(seed: int, count: int) -> np.ndarray:
    mx.random.seed(seed)
    return mnp.random.normal(size=(count,)).asnumpy()


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    mx.random.seed(seed)
    with autograd.train_mode() if training else autograd.predict_mode():
        return nn.Dropout(rate)(mnp.array(X)).asnumpy()
