"""Values that the documents print and that depend on no random number, on every backend."""

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
