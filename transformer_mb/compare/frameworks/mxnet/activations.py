"""Activations in MXNet: ``npx.leaky_relu`` is the function of a whole family, gluon has the layers."""

from __future__ import annotations

import mxnet
import numpy as np
from mxnet import np as mnp
from mxnet import npx
from mxnet.gluon import nn

ABSENT = {"leaky_relu_layer": "gluon's LeakyReLU has no default slope."}


def gelu(X: np.ndarray) -> np.ndarray:
    return npx.leaky_relu(mnp.array(X), act_type="gelu").asnumpy()


def gelu_layer(X: np.ndarray) -> np.ndarray:
    return nn.GELU()(mnp.array(X)).asnumpy()


def leaky_relu(X: np.ndarray) -> np.ndarray:
    return npx.leaky_relu(mnp.array(X)).asnumpy()


def prelu_layer(X: np.ndarray) -> np.ndarray:
    layer = nn.PReLU()
    layer.initialize()
    return layer(mnp.array(X)).asnumpy()


def hard_sigmoid(X: np.ndarray) -> np.ndarray:
    return mxnet.nd.hard_sigmoid(mxnet.nd.array(X)).asnumpy()


def elu(X: np.ndarray) -> np.ndarray:
    return npx.leaky_relu(mnp.array(X), act_type="elu").asnumpy()


def softplus(X: np.ndarray) -> np.ndarray:
    return npx.activation(mnp.array(X, dtype=X.dtype), act_type="softrelu").asnumpy()


def relu(X: np.ndarray) -> np.ndarray:
    return npx.relu(mnp.array(X)).asnumpy()
