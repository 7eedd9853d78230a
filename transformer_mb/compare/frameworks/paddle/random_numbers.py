"""paddle.nn, its initializers, and Paddle's generator of the CPU."""

from __future__ import annotations

import numpy as np
import paddle


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    paddle.seed(seed)
    layer = paddle.nn.Linear(inputs, outputs)
    return layer.weight.numpy(), layer.bias.numpy()


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    paddle.seed(seed)
    return paddle.nn.Embedding(vocabulary, size).weight.numpy()


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    paddle.seed(seed)
    initialize = paddle.nn.initializer.TruncatedNormal(std=deviation)
    return paddle.create_parameter(shape, "float32", default_initializer=initialize).numpy()


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    initialize = paddle.nn.initializer.XavierUniform()
    first, second = (paddle.create_parameter(shape, "float32", default_initializer=initialize) for _ in range(2))
    return first.numpy(), second.numpy()


def uniform(seed: int, count: int) -> np.ndarray:
    paddle.seed(seed)
    return paddle.rand((count,)).numpy()


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    paddle.seed(seed)
    return paddle.rand((count,)).numpy(), paddle.rand((count,)).numpy()


def normal(seed: int, count: int) -> np.ndarray:
    paddle.seed(seed)
    return paddle.randn((count,)).numpy()


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    paddle.seed(seed)
    layer = paddle.nn.Dropout(rate)
    layer.train() if training else layer.eval()
    return layer(paddle.to_tensor(X)).numpy()
