"""Lengths of any dtype, a mask's value in the dtype of what it masks, and a mask that several calls share, in MXNet."""

import numpy as np
import pytest

from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
from mxnet import np as mnp

from transformer_mb.backends.mxnet.attention import length_mask
from transformer_mb.presets import d2l

SMALL = ["uint8", "int8", "int16", "uint16", "uint32"]


@pytest.mark.parametrize("dtype", SMALL)
def test_lengths_of_few_bits_wrap_nowhere(dtype):
    """300 keys are more than eight bits count, and so are the tokens of three sentences."""
    backend = layers.BACKEND(dtype="float64")
    rng = np.random.default_rng(0)
    scores, lens = rng.normal(size=(2, 3, 300)), np.array([10, 100])
    pred, labels, steps = rng.normal(size=(3, 110, 5)), rng.integers(0, 5, (3, 110)), np.array([100, 100, 110])
    loss = backend.layer("MaskedSoftmaxCELoss", normalization="tokens")
    positions, offset = backend.layer("PositionalEncoding", 8, 0.0, 400), np.array([126, 3])
    X = np.zeros((2, 4, 8))
    for call, *given, numbers in [
        (backend.masked_softmax, scores, lens),
        (backend.sequence_mask, scores.swapaxes(1, 2), lens),
        (loss, pred, labels, steps),
        (positions, X, offset),
    ]:
        expected = backend.apply(call, *given, numbers)
        np.testing.assert_array_equal(backend.apply(call, *given, numbers.astype(dtype)), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "float32", "float16"])
def test_lengths_of_any_of_mxnets_dtypes(dtype):
    weights = layers.masked_softmax(mnp.zeros((1, 2, 300)), mnp.array([10], dtype=dtype))
    assert (weights.asnumpy() > 0.0).sum(axis=-1).tolist() == [[10, 10]]


def test_left_padding_of_few_bits():
    backend = layers.BACKEND()
    decoder = backend.build(d2l(9, 9, position="learned")).decoder
    tokens, found = mnp.array([[7, 7, 2, 5], [2, 8, 6, 4]], dtype="int64"), []
    for dtype in ("int64", "uint8"):
        state = decoder.init_state(mnp.zeros((2, 3, 32)), None, 6, mnp.array([2, 0], dtype=dtype))
        found.append(decoder(tokens, state)[0].asnumpy())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("value", [0.1, -1e11, float(np.finfo(np.float64).min), -np.inf])
def test_the_value_of_a_mask_has_the_dtype_of_what_it_masks(value):
    X = mnp.ones((2, 3, 1), dtype="float64")
    masked = layers.sequence_mask(X, mnp.array([1, 2]), value=value).asnumpy()
    assert masked[..., 0].tolist() == [[1.0, value, value], [1.0, 1.0, value]]


def test_a_shared_mask_is_one_mask_of_several():
    attention = layers.DotProductAttention(0.0)
    X = mnp.array(np.random.default_rng(0).normal(size=(2, 3, 4)), dtype="float32")
    lens, fewer = mnp.array([3, 2]), mnp.array([1, 3])
    shared, plain = length_mask(lens, (2, 3, 3), X), mnp.arange(3) < lens.reshape(2, 1, 1)
    for options in ({"causal": True}, {"valid_lens": fewer}, {"valid_lens": fewer, "causal": True}):
        expected = attention(X, X, X, mask=plain, **options)
        np.testing.assert_array_equal(attention(X, X, X, mask=shared, **options), expected)
        assert (attention(X, X, X, mask=shared) != expected).any()
