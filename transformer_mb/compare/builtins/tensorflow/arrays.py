"""TensorFlow's own operations, eagerly: devices, dtypes, special numbers, indices, and gradients at kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from ..calls import Table, calls, follows_array, follows_tensor

called = calls(tf.convert_to_tensor, keras.ops.convert_to_numpy)


def gradient(function: Callable[..., Any], of: int = 1) -> Callable[..., Any]:
    """Return the gradients of the sum of a function's output by its first arguments."""

    def gradients(*arguments: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arguments[:of])
            result = function(*arguments)
        return tape.gradient(result, arguments[0] if of == 1 else arguments[:of])

    return gradients


def _default_device() -> str:
    """Return the first visible GPU, or the CPU; an operation without a GPU kernel runs on the CPU in any case."""
    return "gpu:0" if tf.config.list_physical_devices("GPU") else "cpu"


def _use_device(device: str) -> None:
    """Hide all other devices, which works until TensorFlow has computed."""
    kind, _, number = device.partition(":")
    seen = [] if kind == "cpu" else [tf.config.list_physical_devices("GPU")[int(number)]]
    tf.config.set_visible_devices(seen, "GPU")


TABLES: dict[str, Table] = {
    "device": {"default": _default_device, "use": _use_device},
    "numbers": called(
        returned=tf.identity,
        from_python=tf.constant,
        arange=tf.range,
        add=operator.add,
        add_number=operator.add,
        divide=operator.truediv,
        total=tf.reduce_sum,
        mean=tf.reduce_mean,
        matmul=lambda X, Y, dtype: tf.cast(tf.cast(X, dtype) @ tf.cast(Y, dtype), "float32"),
    )
    | {
        "follows_array": follows_array(tf.convert_to_tensor),
        "follows_tensor": follows_tensor(tf.constant, lambda tensor: tensor.numpy()),
    },
    "special_numbers": called(
        multiply=operator.mul,
        floor_divide=operator.floordiv,
        argmax=tf.argmax,
        whole=tf.round,
        cast=tf.cast,
    ),
    "indices": called(
        take=tf.gather,
        index="A TensorFlow tensor cannot be indexed with another; tf.gather does it.",
        argmax=lambda X: tf.argmax(X, axis=-1),
        maximum=lambda X: tf.reduce_max(X, axis=-1),
        top_k=lambda X, k: tf.math.top_k(X, k).indices,
        argsort=tf.argsort,
        one_hot=tf.one_hot,
    ),
    "kinks": called(
        relu=gradient(tf.nn.relu),
        leaky_relu=gradient(tf.nn.leaky_relu),
        absolute=gradient(tf.abs),
        largest=gradient(tf.reduce_max),
        largest_along=gradient(lambda x: tf.reduce_max(x, -1)),
        larger=gradient(tf.maximum),
        clip=gradient(tf.clip_by_value),
        norm=gradient(tf.norm),
        deviation=gradient(tf.math.reduce_std),
        product=gradient(tf.reduce_prod),
        power=gradient(operator.pow),
        logsumexp=gradient(lambda x: tf.reduce_logsumexp(x, -1)),
    ),
}
