"""Masks and heads."""

import numpy as np
import pytest

from transformer_mb.parity.rows.layer_inputs import FIXED


def test_sequence_mask_of_steps_and_its_default(backend):
    masked = backend.apply(backend.sequence_mask, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([1, 2]))
    np.testing.assert_array_equal(masked, [[1.0, 0.0, 0.0], [4.0, 5.0, 0.0]])


def test_sequence_mask_leaves_its_input(backend):
    X = np.ones((1, 3))
    masked = backend.apply(backend.sequence_mask, X, np.array([0]), 7.0)
    np.testing.assert_array_equal(masked, np.full((1, 3), 7.0))
    np.testing.assert_array_equal(X, np.ones((1, 3)))


def softmax_by_hand(X, allowed):
    weights = np.zeros_like(X)
    for place in np.ndindex(X.shape[:-1]):
        keys = np.flatnonzero(allowed[place])
        if keys.size:
            powers = np.exp(X[place][keys] - X[place][keys].max())
            weights[place][keys] = powers / powers.sum()
    return weights


MASKS = {
    "none": (None, None, lambda X: np.ones(X.shape, bool)),
    "lens": (np.array([5, 2, 1]), None, lambda X: np.arange(5) < np.array([5, 2, 1])[:, None, None]),
    "lens with an empty row": (np.array([3, 0, 5]), None, lambda X: np.arange(5) < np.array([3, 0, 5])[:, None, None]),
    "lens 2-D": (FIXED["lens 2-D"], None, lambda X: np.arange(5) < FIXED["lens 2-D"][..., None]),
    "mask": (None, np.eye(4, 5, dtype=bool), lambda X: np.eye(4, 5, dtype=bool)),
    "lens and mask": (
        np.array([5, 2, 1]),
        np.eye(4, 5, dtype=bool),
        lambda X: (np.arange(5) < np.array([5, 2, 1])[:, None, None]) & np.eye(4, 5, dtype=bool),
    ),
}


@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("heads", [False, True], ids=["3-D", "4-D"])
def test_masked_softmax(form, heads, backend, rng):
    valid_lens, mask, allowed = MASKS[form]
    X = rng.standard_normal((3, 4, 5))
    expected = softmax_by_hand(X, np.broadcast_to(allowed(X), X.shape))
    if heads:
        X, expected = np.stack([X, X[:, ::-1]], axis=1), np.stack([expected, expected], axis=1)
        flipped = softmax_by_hand(X[:, 1], np.broadcast_to(allowed(X[:, 1]), X[:, 1].shape))
        expected[:, 1] = flipped
    weights = backend.apply(backend.masked_softmax, X, valid_lens, mask)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(weights[expected == 0.0], 0.0)


def test_masked_softmax_of_large_scores(backend):
    weights = backend.apply(backend.masked_softmax, np.array([[[1e4, 1e4 - 1.0, -1e4, 2e4]]]), np.array([3]))
    np.testing.assert_allclose(weights[0, 0], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0.0, 0.0], atol=1e-12)


def test_a_fully_masked_row_has_no_gradient(backend, rng):
    X, cotangent = rng.standard_normal((3, 4, 5)), rng.standard_normal((3, 4, 5))
    output, (gradient, *_), _ = backend.gradients(backend.masked_softmax, [X, np.array([3, 0, 5])], cotangent)
    assert np.isfinite(gradient).all() and np.abs(gradient[0]).max() > 0.0
    np.testing.assert_array_equal(gradient[1], 0.0)
    np.testing.assert_array_equal(output[1], 0.0)


@pytest.mark.parametrize("masked_by", ["lens", "mask", "causal"])
def test_attention_of_a_fully_masked_row_is_zero(masked_by, backend, rng):
    layer = backend.layer("DotProductAttention", 0.0)
    Q, K, V = (rng.standard_normal((2, 2, n, 4)) for n in (5, 3, 3))
    if masked_by == "lens":
        inputs, call, empty = [Q, K, V, np.array([0, 3])], {}, np.s_[0]
    elif masked_by == "mask":
        mask = np.ones((5, 3), bool)
        mask[2] = False
        inputs, call, empty = [Q, K, V], {"mask": mask}, np.s_[:, :, 2]
    else:
        inputs, call, empty = [Q, K, V], {"causal": True}, np.s_[:, :, :2]  # five queries, three keys
    output, gradients, _ = backend.gradients(layer, inputs, rng.standard_normal(Q.shape), **call)
    np.testing.assert_array_equal(output[empty], 0.0)
    np.testing.assert_array_equal(gradients[0][empty], 0.0)
    assert all(np.isfinite(g).all() and np.abs(g).max() > 0.0 for g in gradients[:3])


def test_transpose_qkv_gives_each_head_its_slice(backend, rng):
    X = rng.standard_normal((2, 3, 8))
    heads = backend.apply(backend.transpose_qkv, X, 4)
    assert heads.shape == (2, 4, 3, 2)
    for head in range(4):
        np.testing.assert_array_equal(heads[:, head], X[:, :, 2 * head : 2 * head + 2])


def test_transpose_output_reverses_it(backend, rng):
    X = rng.standard_normal((2, 3, 8))
    heads = backend.apply(backend.transpose_qkv, X, 4)
    np.testing.assert_array_equal(backend.apply(backend.transpose_output, heads, 4), X)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("masked", ["MultiHeadAttention", "DotProductAttention", "masked_softmax", "EncoderBlock"])
def test_a_mask_of_three_dimensions_is_one_for_each_row(masked, rows, backend, rng):
    """Also where there are as many rows as heads: each row alone, and its mask [T, S], says what it must be."""
    X, mask = rng.standard_normal((rows, 5, 8)), rng.random((rows, 5, 5)) < 0.6
    heads = X.reshape(rows, 5, 4, 2).swapaxes(1, 2)
    scores = rng.standard_normal((rows, 4, 5, 5))
    layer, inputs = {
        "MultiHeadAttention": (lambda: backend.layer("MultiHeadAttention", 8, 8, 8, 8, 4, 0.0), [X, X, X]),
        "DotProductAttention": (lambda: backend.layer("DotProductAttention", 0.0), [heads, heads, heads]),
        "masked_softmax": (lambda: backend.masked_softmax, [scores]),
        "EncoderBlock": (lambda: backend.layer("EncoderBlock", 8, 8, 8, 8, [8], 8, 12, 4, 0.0), [X]),
    }[masked]
    layer = layer()
    found = backend.apply(layer, *inputs, mask=mask)
    for row in range(rows):
        alone = backend.apply(layer, *(given[row : row + 1] for given in inputs), mask=mask[row])
        np.testing.assert_allclose(found[row : row + 1], alone, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found, backend.apply(layer, *inputs, mask=mask[:, None]))


def test_a_mask_for_each_head_has_four_dimensions(backend, rng):
    scores, mask = rng.standard_normal((4, 4, 3, 3)), rng.random((4, 3, 3)) < 0.6
    expected = softmax_by_hand(scores, np.broadcast_to(mask, scores.shape))
    np.testing.assert_allclose(backend.apply(backend.masked_softmax, scores, mask=mask[None]), expected, rtol=0, atol=1e-15)
