"""Normalization over the last axis in gluon; variance and deviation in mxnet.np."""

from __future__ import annotations

import numpy as np
from mxnet import np as mnp
from mxnet.gluon import nn

ABSENT = {"rms_norm": "MXNet 1.9.1 has no RMS normalization."}


def layer_norm(X: np.ndarray) -> np.ndarray:
    return _applied(nn.LayerNorm(), X)


def layer_norm_cast(X: np.ndarray) -> np.ndarray:
    layer = nn.LayerNorm()
    layer.cast(X.dtype.name)
    return _applied(layer, X)


def layer_norm_of(X: np.ndarray, number: int) -> np.ndarray:
    return _applied(nn.LayerNorm(number), X)


def variance(X: np.ndarray) -> float:
    return float(mnp.var(mnp.array(X)))


def deviation(X: np.ndarray) -> float:
    return float(mnp.std(mnp.array(X)))


def _applied(layer: nn.LayerNorm, X: np.ndarray) -> np.ndarray:
    layer.initialize()
    return layer(mnp.array(X, dtype=X.dtype)).asnumpy()
