"""gluon.Trainer with MXNet's optimizers, gluon's clipping, mx.init and mxnet.np.random; and a training's own parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mxnet as mx
import numpy
from mxnet import autograd, gluon
from mxnet import np as mnp
from mxnet.gluon import nn

from ..calls import Table, seeding
from .arrays import called
from .layers import begun

seeded = seeding(mx.random.seed)


def stepped(optimizer: str, *names: str) -> Callable[..., numpy.ndarray]:
    """Return the weights after each step, [steps, weights], of an optimizer given settings by name, and rates by step."""

    def run(W: numpy.ndarray, gradients: Sequence[numpy.ndarray], *settings: Any, rates: Sequence[float] = ()) -> numpy.ndarray:
        weights = begun(gluon.Parameter("weights", shape=W.shape))
        weights.set_data(mnp.array(W))
        trainer = gluon.Trainer([weights], optimizer, dict(zip(names, settings, strict=True)))
        after = []
        for i, gradient in enumerate(gradients):
            if rates:
                trainer.set_learning_rate(rates[i])
            with autograd.record():
                loss = (weights.data() * mnp.array(gradient)).sum()
            loss.backward()
            trainer.step(1)
            after.append(weights.data().asnumpy())
        return numpy.stack(after)

    return run


def clip_global_norm(gradients: Sequence[numpy.ndarray], norm: float) -> list[numpy.ndarray]:
    """Clip by the global norm, the only clipping by norm that gluon has."""
    arrays = [mnp.array(gradient).as_nd_ndarray() for gradient in gradients]
    gluon.utils.clip_global_norm(arrays, norm)
    return [array.asnumpy() for array in arrays]


def dense(inputs: int, outputs: int) -> tuple[Any, Any]:
    layer = begun(nn.Dense(outputs, in_units=inputs))
    return layer.weight.data(), layer.bias.data()


def initialized_twice(shape: tuple[int, ...]) -> tuple[Any, Any]:
    initialize = mx.init.Xavier()
    first, second = mnp.zeros(shape), mnp.zeros(shape)
    for array in (first, second):
        initialize("weight", array)
    return first, second


def uniform(count: int) -> Any:
    return mnp.random.uniform(size=(count,))


def dropout(X: Any, rate: float, training: bool) -> Any:
    with autograd.train_mode() if training else autograd.predict_mode():
        return nn.Dropout(rate)(X)


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, numpy.ndarray]:
    """Return the weights that ``initialize()`` gives the layers."""
    mx.random.seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """MXNet's optimizer ``adam`` in place of the trainer's, which passes all gradients, clipped, as one vector.

    The trainer subtracts ``change``. Adam's step depends on gradients alone: taken from weights of 0 it is -change.
    """

    def __init__(self, ours: Any):
        self.change = ours.change
        self.adam = mx.optimizer.create("adam")
        self.update = mx.optimizer.get_updater(self.adam)
        self.weights = mnp.zeros_like(ours.change)

    def step(self, gradient: mnp.ndarray, learning_rate: float, step_count: int) -> None:
        self.adam.set_learning_rate(learning_rate)
        self.weights[:] = 0.0
        self.update(0, gradient, self.weights)
        self.change[:] = -self.weights


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer)


TABLES: dict[str, Table] = {
    "optimizers": {
        "adam": stepped("adam", "learning_rate"),
        "adam_by_default": stepped("adam"),
        "sgd_by_default": stepped("sgd"),
        "adam_with_weight_decay": stepped("adam", "learning_rate", "wd"),
        "adamw": "MXNet 1.9.1 has no optimizer AdamW, only an operator that is told its decay.",
        "rmsprop": stepped("rmsprop", "learning_rate"),
        "adagrad": stepped("adagrad", "learning_rate"),
        "sgd_with_momentum": stepped("sgd", "learning_rate", "momentum"),
        "clip_by_norm": clip_global_norm,
        "clip_by_global_norm": clip_global_norm,
    },
    "random_numbers": called(
        dense=seeded(dense),
        embedding=seeded(lambda vocabulary, size: begun(nn.Embedding(vocabulary, size)).weight.data()),
        truncated_normal="MXNet 1.9.1 has no truncated normal distribution.",
        initialized_twice=initialized_twice,
        uniform=seeded(uniform),
        uniform_twice=seeded(lambda count: (uniform(count), uniform(count))),
        normal=seeded(lambda count: mnp.random.normal(size=(count,))),
        dropout=seeded(dropout),
    ),
    "own_parts": {
        "norm_epsilon": lambda: nn.LayerNorm()._epsilon,
        "initial_weights": initial_weights,
        "use_own_adam": use_own_adam,
    },
}
