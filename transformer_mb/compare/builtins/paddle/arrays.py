"""Paddle's tensors: where they are, their dtypes, special numbers and indices, and gradients at kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import paddle
from paddle import Tensor
from paddle.nn import functional as F

from ..calls import Table, calls, follows_array, follows_tensor


def to_numpy(X: Tensor) -> Any:
    return X.numpy()


called = calls(paddle.to_tensor, to_numpy)


def gradient(function: Callable[..., Tensor], of: int = 1) -> Callable[..., Any]:
    """Return the gradients of the sum of a function's output by its first arguments."""

    def gradients(*arguments: Any) -> Any:
        for one in arguments[:of]:
            one.stop_gradient = False
        found = paddle.grad(function(*arguments).sum(), list(arguments[:of]))
        return found if of > 1 else found[0]

    return gradients


def _cast(X: Tensor, dtype: str) -> Tensor:
    return X.astype(getattr(paddle, dtype))


TABLES: dict[str, Table] = {
    "device": {"default": paddle.device.get_device, "use": paddle.device.set_device},
    "numbers": called(
        returned=lambda X: X,
        from_python=paddle.to_tensor,
        arange=paddle.arange,
        add=operator.add,
        add_number=operator.add,
        divide=operator.truediv,
        total=paddle.sum,
        mean=paddle.mean,
        matmul=lambda X, Y, dtype: (_cast(X, dtype) @ _cast(Y, dtype)).astype("float32"),
    )
    | {
        "follows_array": follows_array(paddle.to_tensor),
        "follows_tensor": follows_tensor(paddle.to_tensor, to_numpy),
    },
    "special_numbers": called(
        multiply=operator.mul,
        floor_divide=operator.floordiv,
        argmax=paddle.argmax,
        whole=paddle.round,
        cast=_cast,
    ),
    "indices": called(
        take=paddle.gather,
        index=lambda X, ids: X[ids],
        argmax=lambda X: X.argmax(-1),
        maximum=lambda X: X.max(-1),
        top_k=lambda X, k: X.topk(k)[1],
        argsort=paddle.argsort,
        one_hot=F.one_hot,
    ),
    "kinks": called(
        relu=gradient(F.relu),
        leaky_relu=gradient(F.leaky_relu),
        absolute=gradient(paddle.abs),
        largest=gradient(paddle.max),
        largest_along=gradient(lambda x: paddle.max(x, -1)),
        larger=gradient(paddle.maximum),
        clip=gradient(paddle.clip),
        norm=gradient(paddle.linalg.norm),
        deviation=gradient(paddle.std),
        product=gradient(paddle.prod),
        power=gradient(operator.pow),
        logsumexp=gradient(lambda x: paddle.logsumexp(x, -1)),
    ),
}
