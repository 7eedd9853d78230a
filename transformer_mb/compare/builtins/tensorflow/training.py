"""keras.optimizers, keras.initializers and TensorFlow's random numbers, seeded as Keras does; and a training's own parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, optimizers

from ..calls import Table, seeding
from .arrays import called

seeded = seeding(keras.utils.set_random_seed)


def stepped(optimizer: Callable[..., Any], *names: str) -> Callable[..., np.ndarray]:
    """Return the weights after each step, [steps, weights], of an optimizer given settings by name, and rates by step."""

    def run(W: np.ndarray, gradients: Sequence[np.ndarray], *settings: Any, rates: Sequence[float] = ()) -> np.ndarray:
        weights = keras.Variable(W)
        chosen = optimizer(**dict(zip(names, settings, strict=True)))
        after = []
        for i, gradient in enumerate(gradients):
            if rates:
                chosen.learning_rate = rates[i]
            chosen.apply([keras.ops.convert_to_tensor(gradient)], [weights])
            after.append(keras.ops.convert_to_numpy(weights).copy())
        return np.stack(after)

    return run


def clipped(name: str) -> Callable[..., list[np.ndarray]]:
    """Make a function of gradients and a norm that clips them: one step of SGD at a learning rate of 1 from weights of 0."""

    def clip(gradients: Sequence[np.ndarray], norm: float) -> list[np.ndarray]:
        weights = [keras.Variable(np.zeros_like(gradient)) for gradient in gradients]
        given = [keras.ops.convert_to_tensor(gradient) for gradient in gradients]
        optimizers.SGD(1.0, **{name: norm}).apply(given, weights)
        return [-keras.ops.convert_to_numpy(weight) for weight in weights]

    return clip


def dense(inputs: int, outputs: int) -> tuple[Any, Any]:
    layer = layers.Dense(outputs)
    layer.build((None, inputs))
    return layer.kernel, layer.bias


def embedding(vocabulary: int, size: int) -> Any:
    layer = layers.Embedding(vocabulary, size)
    layer.build()
    return layer.embeddings


def initialized_twice(shape: tuple[int, ...]) -> tuple[Any, Any]:
    initialize = keras.initializers.GlorotUniform()
    return initialize(shape), initialize(shape)


def uniform(count: int) -> tf.Tensor:
    return tf.random.uniform((count,))


def initial_weights(backend: Any, config: Any, seed: int) -> dict[str, np.ndarray]:
    """Return the weights that the layers start with."""
    keras.utils.set_random_seed(seed)
    return backend.get_weights(backend.create_empty(config))


class _OwnAdam:
    """keras.optimizers.Adam in place of the trainer's, which passes all gradients, clipped, as a few vectors."""

    def __init__(self, ours: Any, variables: Sequence[keras.Variable]):
        self.flatten, self.split = ours.flatten, ours.split
        self.variables = list(variables)
        self.adam = optimizers.Adam()
        self.adam.build(self.variables)

    @property
    def slots(self) -> dict[str, list[tf.Variable]]:
        return {"m": [tf.zeros((), variable.dtype) for variable in self.variables]}  # the trainer asks for their dtype

    def rates(self, learning_rate: float, step_count: int) -> np.ndarray:
        return np.array([learning_rate])

    def step(self, gradients: Sequence[tf.Tensor], rates: tf.Tensor) -> None:
        self.adam.learning_rate.assign(tf.cast(rates[0], self.adam.learning_rate.dtype))
        self.adam.apply(self.split(gradients), self.variables)


def use_own_adam(trainer: Any) -> None:
    trainer.optimizer = _OwnAdam(trainer.optimizer, [parameter.holder for parameter in trainer.parameters.values()])


TABLES: dict[str, Table] = {
    "optimizers": {
        "adam": stepped(optimizers.Adam, "learning_rate"),
        "adam_by_default": stepped(optimizers.Adam),
        "sgd_by_default": stepped(optimizers.SGD),
        "adam_with_weight_decay": stepped(optimizers.Adam, "learning_rate", "weight_decay"),
        "adamw": stepped(optimizers.AdamW, "learning_rate"),
        "rmsprop": stepped(optimizers.RMSprop, "learning_rate"),
        "adagrad": stepped(optimizers.Adagrad, "learning_rate"),
        "sgd_with_momentum": stepped(optimizers.SGD, "learning_rate", "momentum"),
        "clip_by_norm": clipped("clipnorm"),
        "clip_by_global_norm": clipped("global_clipnorm"),
    },
    "random_numbers": called(
        dense=seeded(dense),
        embedding=seeded(embedding),
        truncated_normal=lambda std, shape, seed: keras.initializers.TruncatedNormal(stddev=std, seed=seed)(shape),
        initialized_twice=initialized_twice,
        uniform=seeded(uniform),
        uniform_twice=seeded(lambda count: (uniform(count), uniform(count))),
        normal=seeded(lambda count: tf.random.normal((count,))),
        dropout=lambda X, rate, training, seed: layers.Dropout(rate, seed=seed)(X, training=training),
    ),
    "own_parts": {
        "norm_epsilon": lambda: layers.LayerNormalization().epsilon,
        "initial_weights": initial_weights,
        "use_own_adam": use_own_adam,
    },
}
