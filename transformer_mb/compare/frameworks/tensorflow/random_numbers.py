"""keras.layers and keras.initializers; TensorFlow's own random numbers, seeded as Keras does."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf


def dense(inputs: int, outputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    keras.utils.set_random_seed(seed)
    layer = keras.layers.Dense(outputs)
    layer.build((None, inputs))
    return layer.kernel.numpy(), layer.bias.numpy()


def embedding(vocabulary: int, size: int, seed: int) -> np.ndarray:
    keras.utils.set_random_seed(seed)
    layer = keras.layers.Embedding(vocabulary, size)
    layer.build()
    return layer.embeddings.numpy()


def truncated_normal(deviation: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return keras.initializers.TruncatedNormal(stddev=deviation, seed=seed)(shape).numpy()


def initialized_twice(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    initialize = keras.initializers.GlorotUniform()
    return initialize(shape).numpy(), initialize(shape).numpy()


def uniform(seed: int, count: int) -> np.ndarray:
    keras.utils.set_random_seed(seed)
    return tf.random.uniform((count,)).numpy()


def uniform_twice(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    keras.utils.set_random_seed(seed)
    return tf.random.uniform((count,)).numpy(), tf.random.uniform((count,)).numpy()


def normal(seed: int, count: int) -> np.ndarray:
    keras.utils.set_random_seed(seed)
    return tf.random.normal((count,)).numpy()


def dropout(X: np.ndarray, rate: float, training: bool, seed: int) -> np.ndarray:
    return keras.layers.Dropout(rate, seed=seed)(X, training=training).numpy()
