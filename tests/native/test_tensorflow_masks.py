"""Masks that Keras attaches to tensors, and explicit ones beside them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import transformer_mb as tmb
from transformer_mb.backends.tensorflow import EncoderBlock, MultiHeadAttention
from transformer_mb.presets import d2l

# Five rows of five steps: a padding mask [B, T] could be taken for a mask [T, S] here.
TOKENS = np.array([[5, 6, 7, 0, 0], [3, 4, 5, 6, 0], [1, 2, 3, 4, 5], [9, 8, 0, 0, 0], [7, 7, 0, 0, 0]])
OTHERS = np.array([[5, 6, 7, 8, 0], [3, 4, 0, 0, 0], [1, 2, 3, 0, 0], [9, 8, 7, 6, 5], [7, 7, 7, 7, 0]])
PAST = tf.constant(np.tril(np.ones((5, 5), bool)))
MASKS = {"[T, S]": PAST, "[B, 1, T, S]": tf.tile(PAST[None, None], (5, 1, 1, 1))}


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(3)


def padding_of(tokens):
    return tf.constant(tokens != 0)[:, None, None]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("order", ["post", "pre"])
def test_an_encoder_block_takes_a_mask_beside_the_padding(order, mask):
    embedding = keras.layers.Embedding(10, 8, mask_zero=True)
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, norm_position=order)
    expected = block(embedding(TOKENS) * 1.0, mask=PAST & padding_of(TOKENS))
    assert np.abs(block(embedding(TOKENS)) - expected).max() > 1e-3
    np.testing.assert_allclose(block(embedding(TOKENS), mask=mask), expected, atol=1e-6)
    inputs = keras.Input((5,), dtype="int32")
    model = keras.Model(inputs, block(embedding(inputs), mask=mask))
    np.testing.assert_allclose(model.predict(TOKENS, verbose=0), expected, atol=1e-6)


@pytest.mark.parametrize("mask", [None, *MASKS.values()], ids=["none", *MASKS])
def test_cross_attention_with_padding_on_both_sides(mask):
    """That of the keys hides keys; that of the queries goes on with the output, and hides nothing here."""
    embedding, attention = keras.layers.Embedding(10, 8, mask_zero=True), MultiHeadAttention(8, 8, 8, 8, 2, 0.0)
    queries, keys = embedding(TOKENS), embedding(OTHERS)
    allowed = padding_of(OTHERS) if mask is None else mask & padding_of(OTHERS)
    expected = attention(queries * 1.0, keys * 1.0, keys * 1.0, mask=allowed)
    wrongly = [None, padding_of(TOKENS), *([] if mask is None else [mask, padding_of(OTHERS)])]
    for other in wrongly:
        assert np.abs(attention(queries * 1.0, keys * 1.0, keys * 1.0, mask=other) - expected).max() > 1e-3
    found = attention(queries, keys, keys, mask=mask)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_array_equal(found._keras_mask, TOKENS != 0)


@pytest.mark.parametrize("limit", ["max_len", "max_steps"])
def test_a_compiled_decoder_refuses_steps_beyond_the_last(limit):
    """There the number of steps is a tensor: the graph checks it as it runs."""
    sizes = {"max_len": 60, "max_steps": 60, limit: 3}
    decoder = tmb.get_backend("tensorflow").build(d2l(9, 9, max_len=sizes["max_len"])).decoder
    state = decoder.init_state(tf.zeros((2, 3, 32)), None, sizes["max_steps"])
    step, token = tf.function(lambda token, state: decoder(token, state)), tf.constant([[5], [6]])
    for _ in range(3):
        logits, state = step(token, state)
    assert logits.shape == (2, 1, 9)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"A sequence must be at most {limit} tokens long"):
        step(token, state)
