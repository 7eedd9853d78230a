"""The book's usage examples: shapes, and what holds whatever the random weights are."""

import numpy as np

from transformer_mb.conformance.native_calls import natively
from transformer_mb.parity.rows.drawn_values import random_weights


def test_ffn_treats_every_position_alike(backend32):
    layer = backend32.layer("PositionWiseFFN", 4, 4, 8)
    # Its own initial weights may leave all four units dead, and the output zero.
    backend32.set_weights(layer, random_weights(backend32.parameter_shapes(layer)))
    output = backend32.apply(layer, np.ones((2, 3, 4)))
    assert output.shape == (2, 3, 8) and np.abs(output).max() > 0.0
    np.testing.assert_array_equal(output, np.broadcast_to(output[0, 0], output.shape))


def test_add_norm_of_ones_is_zero(backend32):
    layer = backend32.layer("AddNorm", [3, 4], 0.5)
    np.testing.assert_array_equal(backend32.apply(layer, np.ones((2, 3, 4)), np.ones((2, 3, 4))), np.zeros((2, 3, 4)))


def normalized(Y):
    """Over the last two axes: mean 0 and variance 1, as after the block's last layer norm."""
    return np.allclose(Y.mean(axis=(1, 2)), 0.0, atol=1e-5) and np.allclose(Y.var(axis=(1, 2)), 1.0, atol=1e-3)


def test_encoder_block(backend32, rng):
    block = backend32.layer("EncoderBlock", 24, 24, 24, 24, [100, 24], 24, 48, 8, 0.5)
    X, lens = rng.standard_normal((2, 100, 24)), np.array([3, 2])
    Y = backend32.apply(block, X, lens)
    assert Y.shape == (2, 100, 24) and normalized(Y)
    natively(backend32, block, X, lens, need_weights=True)
    assert tuple(block.attention.attention_weights.shape) == (2, 8, 100, 100)
    natively(backend32, block, X, lens)
    assert block.attention.attention_weights is None


def test_decoder_block(backend32, rng):
    X, valid_lens = rng.standard_normal((2, 100, 24)), np.array([3, 2])
    block = backend32.layer("DecoderBlock", 24, 24, 24, 24, [100, 24], 24, 48, 8, 0.5, 0)
    Y, state = backend32.apply(block, X, [rng.standard_normal((2, 100, 24)), valid_lens, [None]])
    assert Y.shape == (2, 100, 24) and normalized(Y)
    assert len(state) == 3 and state[2][0] is not None
    begun = [X, valid_lens, [None]]
    natively(backend32, block, X, begun, need_weights=True)
    for attention in (block.attention1, block.attention2):
        assert tuple(attention.attention_weights.shape) == (2, 8, 100, 100)
    assert begun[2] == [None]
    natively(backend32, block, X, begun)
    assert block.attention1.attention_weights is None and block.attention2.attention_weights is None


def test_keys_and_values_have_the_few_heads_that_a_cache_holds(backend32, rng):
    layer = backend32.layer("MultiHeadAttention", 24, 24, 24, 24, 8, 0.0, num_kv_heads=2)
    assert {name: shape for name, shape in backend32.parameter_shapes(layer).items() if "W_o" not in name} == {
        "W_q.weight": (24, 24),
        "W_k.weight": (6, 24),
        "W_v.weight": (6, 24),
    }
    X = rng.standard_normal((2, 5, 24))
    keys, values = backend32.apply(layer.project_keys_values, X, X)
    assert keys.shape == values.shape == (2, 2, 5, 3)
    natively(backend32, layer, X, X, X, need_weights=True)
    assert tuple(layer.attention_weights.shape) == (2, 8, 5, 5)


def test_encoder_and_its_attention_weights(backend32, rng):
    encoder = backend32.layer("TransformerEncoder", 200, 24, 24, 24, 24, [100, 24], 24, 48, 8, 2, 0.5)
    tokens, lens = np.ones((2, 100), np.int64), np.array([3, 2])
    Y = backend32.apply(encoder, tokens, lens)
    assert Y.shape == (2, 100, 24) and normalized(Y)
    natively(backend32, encoder, tokens, lens, need_weights=True)
    assert [tuple(weights.shape) for weights in encoder.attention_weights] == [(2, 8, 100, 100)] * 2
    natively(backend32, encoder, tokens, lens)
    assert encoder.attention_weights == [None, None]


def test_attention_weights(backend, rng):
    from transformer_mb.config import TransformerConfig

    config = TransformerConfig(source_vocab_size=20, target_vocab_size=21, decoder_num_layers=1, decoder_num_heads=2)
    model = backend.build(config, seed=1)
    source, target = rng.integers(4, 20, (2, 6)), rng.integers(4, 21, (2, 5))
    found = backend.attention(model, source, target, np.array([6, 3]))
    assert [w.shape for w in found["encoder"]] == [(2, 4, 6, 6)] * 2
    assert [w.shape for w in found["decoder_self"]] == [(2, 2, 5, 5)]
    assert [w.shape for w in found["decoder_cross"]] == [(2, 2, 5, 6)]
    for weights in (w for kind in found.values() for w in kind):
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-12)
    for weights in (*found["encoder"], *found["decoder_cross"]):
        np.testing.assert_array_equal(weights[1, ..., 3:], 0.0)
    np.testing.assert_array_equal(np.triu(found["decoder_self"][0], k=1), 0.0)


def test_positions_are_the_papers(backend):
    layer = backend.layer("PositionalEncoding", 6, 0.0, 50)
    table = backend.apply(layer, np.zeros((1, 50, 6)))[0]
    for position in (0, 1, 17, 49):
        for j in range(3):
            angle = position / 10000 ** (2 * j / 6)
            np.testing.assert_allclose(table[position, 2 * j : 2 * j + 2], [np.sin(angle), np.cos(angle)], atol=1e-14)
