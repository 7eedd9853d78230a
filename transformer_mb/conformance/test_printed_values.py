"""Values that the documents print and that depend on no random number, and what a layer shows of itself, on every backend."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

TEXTS = np.array([[[1, 2, 3, 4], [5, 6, 7, 8]], [[5, 6, 7, 8], [5, 1, 0, -1]]], dtype=float)
PAIR = np.array([[1.0, 2.0], [2.0, 3.0]])
BY_TOKEN = [
    [[-1.3416, -0.4472, 0.4472, 1.3416], [-1.3416, -0.4472, 0.4472, 1.3416]],
    [[-1.3416, -0.4472, 0.4472, 1.3416], [1.6465, -0.1098, -0.5488, -0.9879]],
]
BY_TEXT = [
    [[-1.5275, -1.0911, -0.6547, -0.2182], [0.2182, 0.6547, 1.0911, 1.5275]],
    [[0.3538, 0.6683, 0.9829, 1.2974], [0.3538, -0.9042, -1.2187, -1.5332]],
]
NORMS = [
    # The walk-through: over each token, over each text.
    (TEXTS, 4, 1e-5, BY_TOKEN, 4),
    (TEXTS, [2, 4], 1e-5, BY_TEXT, 4),
    # The book: MXNet and Paddle print five digits, Keras has another epsilon.
    (PAIR, 2, 1e-5, [[-0.99998, 0.99998], [-0.99998, 0.99998]], 5),
    (PAIR, 2, 1e-3, [[-0.998006, 0.998006], [-0.998006, 0.998006]], 6),
]


@pytest.mark.parametrize(("X", "norm_shape", "eps", "printed", "digits"), NORMS, ids=["token", "text", "book", "keras"])
def test_layer_norms(X, norm_shape, eps, printed, digits, backend):
    layer = backend.layer("LayerNorm", norm_shape, eps=eps)
    shapes = backend.parameter_shapes(layer)
    backend.set_weights(layer, {"weight": np.ones(shapes["weight"]), "bias": np.zeros(shapes["bias"])})
    np.testing.assert_array_equal(backend.apply(layer, X).round(digits), printed)


def test_batch_norm_of_two_is_layer_norm_of_the_transpose(backend):
    """What the book prints beside its layer norms."""
    layer = backend.layer("LayerNorm", 2)
    backend.set_weights(layer, {"weight": np.ones(2), "bias": np.zeros(2)})
    printed = [[-0.99998, -0.99998], [0.99998, 0.99998]]
    np.testing.assert_array_equal(backend.apply(layer, PAIR.T).T.round(5), printed)


def test_sequence_mask(backend):
    expected = np.ones((2, 6, 8))
    expected[0, 4:] = -99
    np.testing.assert_array_equal(backend.apply(backend.sequence_mask, np.ones((2, 6, 8)), np.array([4, 6]), -99), expected)


def test_masked_softmax_has_exact_zeros_and_rows_of_one(backend, rng):
    weights = backend.apply(backend.masked_softmax, rng.random((2, 6, 8)), np.array([4, 6]))
    assert not weights[0, :, 4:].any() and not weights[1, :, 6:].any() and (weights[0, :, :4] > 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)


# What docs/VARIANTS.md says of the frameworks' own layer norms, by the formula and by measurement.

EXAMPLE = Path(__file__).parents[2] / "examples" / "norm_defaults.py"
# As the page's table has them.
EPSILON = {"tensorflow": 1e-3, "jax": 1e-6}


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="the page and its example are in a checkout alone")
def test_the_frameworks_own_epsilon(backend_name):
    spec = importlib.util.spec_from_file_location("norm_defaults", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    expected = np.sqrt(1.0 / (1.0 + EPSILON.get(backend_name, 1e-5) / example.DEVIATION**2))
    assert example.deviation_after(backend_name) == pytest.approx(expected, rel=1e-5)


# What a layer shows of itself where people of its framework look: in its repr, or in Keras in its get_config too.

# Sizes that nothing else has.
SHOWN = {
    "LayerNorm": ((22,), ["22", "1e-05", "layer_norm"]),
    "MultiHeadAttention": ((22, 22, 22, 22, 11, 0.375), ["22", "11", "0.375"]),
    "PositionWiseFFN": ((22, 33, 44), ["22", "33", "44"]),
    "PositionalEncoding": ((22, 0.375, 33), ["22", "33", "0.375"]),
    "EncoderBlock": ((22, 22, 22, 22, [22], 22, 33, 11, 0.375), ["22", "33", "11", "0.375"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_layer_shows_its_sizes(name, backend):
    arguments, expected = SHOWN[name]
    layer = backend.layer(name, *arguments)
    text = repr(layer)
    assert name in text and f"{name} object at" not in text
    told = text + str(layer.get_config() if hasattr(layer, "get_config") else "")
    missing = [part for part in expected if not re.search(rf"(?<![\d.]){re.escape(part)}(?![\d.])", told)]
    assert not missing, told
