"""tf.function, compiled by XLA (``jit_compile=True``); how often its Python runs, without XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..calls import Table, runs
from .arrays import called

numpy = tf.experimental.numpy  # where alone TensorFlow has log2 and exp2


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return tf.function(function, jit_compile=True)


def round_trip(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.cast(x, tf.bfloat16), tf.float32)


TABLES: dict[str, Table] = {
    "compilation": called(
        through_bfloat16=round_trip,
        through_bfloat16_compiled=compiled(round_trip),
        sum_less_first=compiled(lambda x, y: x + y - x),
        logarithm_of_power=compiled(lambda x: numpy.log2(numpy.exp2(x))),
        multiply_add=compiled(lambda x, y, z: x * y + z),
        third=compiled(lambda x: x / 3.0),
    )
    | {"runs": runs(tf.function, tf.constant)},
}
