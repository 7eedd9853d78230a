"""A planted mistake in weights is the same function as the mistake in code that its name says."""

import numpy as np

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.backends.numpy.embedding import RelativeBias
from transformer_mb.parity.computing.alterations import interleaved, mirrored
from transformer_mb.parity.computing.messages import Request

HEADS, FEW, WIDTH, D = 6, 2, 2, 12
PARTS = ("W_q", "W_k", "W_v")


def altered(alter, weights):
    request = alter(Request("layer", "float64", {}, {f"weights.{name}": value for name, value in weights.items()}))
    return {name.removeprefix("weights."): value for name, value in request.arrays.items()}


def test_interleaved_groups_have_every_second_head_ask_one_of_two():
    backend, random = BACKEND(dtype="float64"), np.random.default_rng(0)
    layer = backend.layer("MultiHeadAttention", D, D, D, D, HEADS, 0.0, num_kv_heads=FEW)
    weights = {f"{name}.weight": random.standard_normal((WIDTH * n, D)) for name, n in zip(PARTS, (6, 2, 2), strict=True)}
    weights["W_o.weight"] = random.standard_normal((D, D))
    backend.set_weights(layer, altered(interleaved(HEADS, FEW), weights))
    X = random.standard_normal((1, 4, D))
    queries, keys, values = ((X[0] @ weights[f"{name}.weight"].T).reshape(4, -1, WIDTH).swapaxes(0, 1) for name in PARTS)
    by_hand = []
    for head in range(HEADS):
        scores = np.exp(queries[head] @ keys[head % FEW].T / np.sqrt(WIDTH))
        by_hand.append(scores / scores.sum(axis=-1, keepdims=True) @ values[head % FEW])
    expected = np.concatenate(by_hand, axis=-1) @ weights["W_o.weight"].T
    np.testing.assert_allclose(backend.apply(layer, X, X, X)[0], expected, rtol=0, atol=1e-13)
    backend.set_weights(layer, weights)
    assert np.abs(backend.apply(layer, X, X, X)[0] - expected).max() > 1e-2


def test_mirrored_buckets_count_distances_the_other_way():
    layer = RelativeBias(2, True, max_len=9, buckets=8, max_distance=12)
    weight = np.random.default_rng(1).standard_normal(layer.weight.value.shape)
    layer.weight.value = weight
    expected = layer.scores(9, 9).swapaxes(2, 3)
    (layer.weight.value,) = altered(mirrored("weight"), {"weight": weight}).values()
    np.testing.assert_array_equal(layer.scores(9, 9), expected)
    assert (expected != expected.swapaxes(2, 3)).any()
