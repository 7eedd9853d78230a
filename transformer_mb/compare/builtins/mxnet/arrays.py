"""mxnet.np and npx: devices, dtypes, special numbers, indices, and gradients at kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import mxnet as mx
import numpy
from mxnet import autograd, npx
from mxnet import np as mnp

from ...facts import Absent
from ..calls import Table, calls, follows_array, follows_tensor

NO_BFLOAT16 = "MXNet 1.9.1 has no bfloat16 that an array could be cast to by name."


def asnumpy(X: Any) -> numpy.ndarray:
    return X.asnumpy()


by_default = calls(mnp.array, asnumpy)
called = calls(lambda X: mnp.array(X, dtype=X.dtype), asnumpy)


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradient of the sum of a function's output by its first argument."""

    def by_first(x: Any, *others: Any) -> Any:
        x.attach_grad()
        with autograd.record():
            result = function(x, *others).sum()
        result.backward()
        return x.grad

    return by_first


def _use_device(device: str) -> None:
    """Enter the device's context and never leave it."""
    kind, _, number = device.partition(":")
    mx.Context(kind, int(number or 0)).__enter__()


def matmul(X: Any, Y: Any, dtype: str) -> Any:
    if dtype == "bfloat16":
        raise Absent(NO_BFLOAT16)
    return mnp.dot(X.astype(dtype), Y.astype(dtype)).astype("float32")


TABLES: dict[str, Table] = {
    "device": {"default": lambda: "cpu", "use": _use_device},
    "numbers": by_default(
        returned=lambda X: X,
        from_python=mnp.array,
        arange=mnp.arange,
        add=operator.add,
        add_number=operator.add,
        divide=operator.truediv,
        total=mnp.sum,
        mean=mnp.mean,
        matmul=matmul,
    )
    | {
        "follows_array": follows_array(mnp.array),
        "follows_tensor": follows_tensor(mnp.array, asnumpy),
    },
    "special_numbers": called(
        multiply=operator.mul,
        floor_divide="MXNet 1.9.1 has no floor division.",
        argmax=mnp.argmax,
        whole=mnp.around,
        cast=lambda X, dtype: X.astype(dtype),
    ),
    "indices": called(
        take=lambda X, ids: mnp.take(X, ids, axis=0),
        index=lambda X, ids: X[ids],
        argmax=lambda X: mnp.argmax(X, axis=-1),
        maximum=lambda X: mnp.max(X, axis=-1),
        top_k=lambda X, k: npx.topk(X, k=k).astype("int64"),
        argsort=mnp.argsort,
        one_hot=npx.one_hot,
    ),
    "kinks": called(
        relu=gradient(npx.relu),
        leaky_relu=gradient(npx.leaky_relu),
        absolute=gradient(mnp.abs),
        largest=gradient(mnp.max),
        largest_along=gradient(lambda x: mnp.max(x, -1)),
        larger=gradient(mnp.maximum),
        clip=gradient(mnp.clip),
        norm=gradient(mnp.linalg.norm),
        deviation=gradient(mnp.std),
        product=gradient(mnp.prod),
        power=gradient(operator.pow),
        logsumexp="MXNet 1.9.1 has no logsumexp.",
    ),
}
