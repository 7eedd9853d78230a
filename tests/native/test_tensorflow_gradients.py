"""Gradients written by hand in few operations, and parameters that are updated together."""

import numpy as np
import pytest
import tensorflow as tf

import transformer_mb as tmb
from native.small import BATCH, CONFIG
from transformer_mb.backends.tensorflow import LayerNorm, attention, dense, optimizers
from transformer_mb.backends.tensorflow.feed_forward import ACTIVATIONS


def norm(kind):
    return LayerNorm(4, kind=kind, affine=False, dtype="float64")


ALLOWED = tf.constant([[True, True, False, True], [False] * 4, [True] * 4])
FUNCTIONS = {
    "layer_norm": lambda X: norm("layer_norm")(X),
    "rms_norm": lambda X: norm("rms_norm")(X),
    "masked softmax": lambda X: attention._softmax_where(X, ALLOWED),
    "products": lambda X: dense.products(X, tf.reverse(X, [0])),
    "products, turned": lambda X: dense.products(X, X * X, transpose_b=True),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_gradients_of_gradients(name, compiled):
    """By differences of the function, and of its gradient."""
    shape = (2, 3, 3) if "products" in name else (3, 4)
    X = tf.random.stateless_normal(shape, (1, 2), dtype=tf.float64)
    weights = tf.random.stateless_normal(shape, (3, 4), dtype=tf.float64)

    def total(X):
        return tf.reduce_sum(weights * FUNCTIONS[name](X) ** 2)

    def gradient(X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = total(X)
        return tape.gradient(Y, X)

    def second(X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = tf.reduce_sum(weights * gradient(X))
        return tape.gradient(Y, X)

    second = tf.function(second, autograph=False) if compiled else second
    step = 1e-5 * tf.random.stateless_normal(shape, (5, 6), dtype=tf.float64)
    ends = X + step, X - step
    first = total(ends[0]) - total(ends[1])
    np.testing.assert_allclose(tf.reduce_sum(2.0 * step * gradient(X)), first, rtol=1e-6)
    change = tf.reduce_sum(weights * (gradient(ends[0]) - gradient(ends[1])))
    np.testing.assert_allclose(tf.reduce_sum(2.0 * step * second(X)), change, rtol=1e-6)


def test_the_slope_of_gelu_tanh_in_float32_errs_half_as_much_as_that_of_tensorflow():
    """By root mean square; tf.tanh is off by up to 5 units in the last place."""
    X = tf.cast(np.linspace(-9.0, 9.0, 5001), "float32")

    def theirs(X):
        return tf.nn.gelu(X, approximate=True)

    def slope(function, X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            Y = function(X)
        return tape.gradient(Y, X).numpy().astype(np.float64)

    exact = slope(theirs, tf.cast(X, "float64"))
    ours, native = (np.square(slope(function, X) - exact).mean() for function in (ACTIVATIONS["gelu_tanh"], theirs))
    assert np.sqrt(ours) <= 0.5 * np.sqrt(native)


@pytest.mark.parametrize("options", [{"clip_norm": 0.1}, {"optimizer": "adamw", "weight_decay": 0.1}, {"optimizer": "sgd"}])
def test_parameters_updated_together_and_alone_end_alike(monkeypatch, options):
    """All of them, those of at most 100 numbers, and none."""
    backend, states = tmb.get_backend("tensorflow", dtype="float64"), []
    for small in (10**6, 100, 0):
        monkeypatch.setattr(optimizers, "SMALL", small)
        trainer = backend.trainer(backend.build(CONFIG.replace(dropout=0.0), seed=1), **options)
        # Its own state is loaded between, by which each moment comes to its place again.
        trainer.step(BATCH)
        trainer.load_state_dict(trainer.state_dict())
        trainer.accumulated_step([BATCH, BATCH])
        states.append({**trainer.state_dict(), **backend.get_weights(trainer.model)})
    sizes = {name: value.size for name, value in states[0].items()}
    assert min(sizes.values()) < 100 < max(sizes.values())
    for state in states[1:]:
        assert state.keys() == states[0].keys()
        for name, value in state.items():
            np.testing.assert_allclose(value, states[0][name], rtol=1e-9, atol=1e-14, err_msg=name)
