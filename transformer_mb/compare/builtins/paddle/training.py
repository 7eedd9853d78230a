"""paddle.optimizer with the clipping classes that it takes, Paddle's generator and initializers; and a training's own parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn, optimizer

from ..calls import Table, seeding
from .arrays import called

seeded = seeding(paddle.seed)


def _parameter(shape: Sequence[int], initialize: Any) -> Tensor:
    return paddle.create_parameter(shape, "float32", default_initializer=initialize)


def _holding(W: np.ndarray) -> Tensor:
    return _parameter(W.shape, nn.initializer.Assign(W))


def stepped(made: Callable[..., Any], *names: str) -> Callable[..., np.ndarray]:
    """Return the weights after each step, [steps, weights], of an optimizer given settings by name, and rates by step."""

    def run(W: np.ndarray, gradients: Sequence[np.ndarray], *settings: Any, rates: Sequence[float] = ()) -> np.ndarray:
        weights = _holding(W)
        chosen = made(**dict(zip(names, settings, strict=True)), parameters=[weights])
        after = []
        for i, gradient in enumerate(gradients):
            if rates:
                chosen.set_lr(rates[i])
            (weights * paddle.to_tensor(gradient)).sum().backward()
            chosen.step()
            chosen.clear_grad()
            after.append(weights.numpy().copy())
        return np.stack(after)

    return run


def clipped(clip: Callable[[float], Any]) -> Callable[..., list[np.ndarray]]:
    """Make a function of gradients and a norm that returns the clipped gradients."""

    def left(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
        pairs = [(_holding(np.zeros_like(gradient)), paddle.to_tensor(gradient)) for gradient in gradients]
        return [gradient.numpy() for _, gradient in clip(norm)(pairs)]

    return left


def dense(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    layer = nn.Linear(inputs, outputs)
    return layer.weight, layer.bias


def initialized_twice(shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    initialize = nn.initializer.XavierUniform()
    return _parameter(shape, initialize), _parameter(shape, initialize)


def dropout(X: Tensor, rate: float, training: bool) -> Tensor:
    layer = nn.Dropout(rate)
    layer.train() if training else layer.eval()
    return layer(X)


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """Return the weights that the layers start with."""
    paddle.seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """paddle.optimizer.Adam in place of the trainer's, which passes all gradients, clipped, as a few vectors."""

    def __init__(self, ours: Any):
        self.flatten, self.split = ours.flatten, ours.split
        self.parameters = ours.parameters
        self.adam = optimizer.Adam(parameters=list(ours.parameters))

    def step(self, gradients: list[Tensor], learning_rate: float, step_count: int) -> None:
        self.adam.set_lr(learning_rate)
        self.adam.apply_gradients(list(zip(self.parameters, self.split(gradients), strict=True)))


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer)


TABLES: dict[str, Table] = {
    "optimizers": {
        "adam": stepped(optimizer.Adam, "learning_rate"),
        "adam_by_default": stepped(optimizer.Adam),
        "sgd_by_default": stepped(optimizer.SGD),
        "adam_with_weight_decay": stepped(optimizer.Adam, "learning_rate", "weight_decay"),
        "adamw": stepped(optimizer.AdamW, "learning_rate"),
        "rmsprop": stepped(optimizer.RMSProp, "learning_rate"),
        "adagrad": stepped(optimizer.Adagrad, "learning_rate"),
        "sgd_with_momentum": stepped(optimizer.Momentum, "learning_rate", "momentum"),
        "clip_by_norm": clipped(nn.ClipGradByNorm),
        "clip_by_global_norm": clipped(nn.ClipGradByGlobalNorm),
    },
    "random_numbers": called(
        dense=seeded(dense),
        embedding=seeded(lambda vocabulary, size: nn.Embedding(vocabulary, size).weight),
        truncated_normal=seeded(lambda std, shape: _parameter(shape, nn.initializer.TruncatedNormal(std=std))),
        initialized_twice=initialized_twice,
        uniform=seeded(lambda count: paddle.rand((count,))),
        uniform_twice=seeded(lambda count: (paddle.rand((count,)), paddle.rand((count,)))),
        normal=seeded(lambda count: paddle.randn((count,))),
        dropout=seeded(dropout),
    ),
    "own_parts": {
        "norm_epsilon": lambda: nn.LayerNorm(1)._epsilon,
        "initial_weights": initial_weights,
        "use_own_adam": use_own_adam,
    },
}
