"""Features that are none: no rows, no steps, whole numbers, another dtype than the weights'; and lengths given by way of ``apply``."""

import numpy as np
import pytest

from transformer_mb.conformance.native_calls import array, as_they_are, native, natively
from transformer_mb.conformance.test_bad_calls import ATTENTION, BLOCK, HEADS, IDS, LENS, LOGITS, STACK, START, X, called, cases
from transformer_mb.errors import DtypeError, ShapeError, TokenError

NONE = X[:0]
EMPTY = {
    "block": ("EncoderBlock", BLOCK, (NONE, LENS[:0]), "X", [0, 3, 8]),
    "decoder block": ("DecoderBlock", (*BLOCK, 0), (NONE, [NONE, LENS[:0], [None]]), "X", [0, 3, 8]),
    "attention": ("MultiHeadAttention", ATTENTION, (NONE, NONE, NONE), "keys", [0, 3, 8]),
    "scores": ("DotProductAttention", (0.0,), (NONE, NONE, NONE), "queries", [0, 3, 8]),
    "ffn": ("PositionWiseFFN", (8, 5, 8), (NONE,), "The input of PositionWiseFFN", [0, 3, 8]),
    "add and norm": ("AddNorm", ([8], 0.0), (NONE, NONE), "X", [0, 3, 8]),
    "norm": ("LayerNorm", ([8],), (NONE,), "The input of LayerNorm", [0, 3, 8]),
    "positions": ("PositionalEncoding", (8, 0.0), (NONE,), "The input of PositionalEncoding", [0, 3, 8]),
    "softmax": ("masked_softmax", None, (NONE,), "X", [0, 3, 8]),
    "steps": ("sequence_mask", None, (NONE, LENS[:0]), "X", [0, 3, 8]),
    "heads": ("transpose_qkv", None, (NONE, 2), "X", [0, 3, 8]),
    "parted heads": ("transpose_output", None, (HEADS[:0], 2), "X", [0, 2, 3, 4]),
    "loss": ("MaskedSoftmaxCELoss", (), (LOGITS[:0], IDS[:0], LENS[:0]), "pred", [0, 3, 9]),
    "no steps, block": ("EncoderBlock", BLOCK, (X[:, :0], LENS * 0), "X", [2, 0, 8]),
    "no queries": ("MultiHeadAttention", ATTENTION, (X[:, :0], X, X), "queries", [2, 0, 8]),
    "no keys": ("MultiHeadAttention", ATTENTION, (X, X[:, :0], X[:, :0]), "keys", [2, 0, 8]),
    "no queries, scores": ("DotProductAttention", (0.0,), (HEADS[:, :, :0], HEADS, HEADS), "queries", [2, 2, 0, 4]),
    "no keys, scores": ("DotProductAttention", (0.0,), (X, X[:, :0], X[:, :0], LENS * 0), "keys", [2, 0, 8]),
    "no values, scores": ("DotProductAttention", (0.0,), (X, X, X[:, :0]), "values", [2, 0, 8]),
    "no keys, softmax": ("masked_softmax", None, (X[..., :0], LENS * 0), "X", [2, 3, 0]),
    "no steps, mask": ("sequence_mask", None, (X[:, :0], LENS * 0), "X", [2, 0, 8]),
    "no steps, heads": ("transpose_qkv", None, (X[:, :0], 2), "X", [2, 0, 8]),
    "no steps, parted heads": ("transpose_output", None, (HEADS[:, :, :0], 2), "X", [2, 2, 0, 4]),
    "no steps, ffn": ("PositionWiseFFN", (8, 5, 8), (X[:, :0],), "The input of PositionWiseFFN", [2, 0, 8]),
    "no steps, add and norm": ("AddNorm", ([8], 0.0), (X[:, :0], X[:, :0]), "X", [2, 0, 8]),
    "no encoder's outputs": ("DecoderBlock", (*BLOCK, 0), (X, [X[:, :0], None, [None]]), "keys", [2, 0, 8]),
}


@cases(EMPTY)
def test_no_rows_and_no_steps_are_refused(case, backend):
    name, arguments, inputs, refused, shape = case
    with pytest.raises(ShapeError) as raised:
        called(backend, name, arguments, inputs, {})
    assert str(raised.value) == f"{refused} must have at least one element, got shape {shape}."


def test_a_model_refuses_no_rows(backend):
    for name, inputs in (("TransformerEncoder", (IDS[:0],)), ("TransformerDecoder", (IDS[:0], START))):
        with pytest.raises(ShapeError, match=r"must have shape \[B, T\] with at least one token, got \[0, 3\]"):
            called(backend, name, STACK, inputs, {})


WHOLE = np.arange(48).reshape(X.shape)
DTYPES = {
    "block": ("EncoderBlock", BLOCK, (WHOLE,), "X", True),
    "decoder block": ("DecoderBlock", (*BLOCK, 0), (WHOLE, START), "X", True),
    "attention": ("MultiHeadAttention", ATTENTION, (X, WHOLE, WHOLE), "keys", True),
    "ffn": ("PositionWiseFFN", (8, 5, 8), (WHOLE,), "The input of PositionWiseFFN", True),
    "norm": ("LayerNorm", ([8],), (WHOLE,), "The input of LayerNorm", True),
    "positions": ("PositionalEncoding", (8, 0.0), (WHOLE,), "The input of PositionalEncoding", False),
    "scores": ("DotProductAttention", (0.0,), (WHOLE, WHOLE, WHOLE), "queries", False),
    "softmax": ("masked_softmax", None, (WHOLE,), "X", False),
    "loss": ("MaskedSoftmaxCELoss", (), (WHOLE, IDS, LENS), "pred", False),
}


@cases(DTYPES)
def test_whole_numbers_are_no_features(case, backend):
    name, arguments, inputs, refused, weighted = case
    with pytest.raises(DtypeError) as raised:
        called(backend, name, arguments, inputs, {})
    must = "dtype float64 as the weights have" if weighted else "a floating dtype"
    assert str(raised.value) == f"{refused} must have {must}, got int64."


FLOATS = {name: case for name, case in DTYPES.items() if case[-1]}


@cases(FLOATS)
def test_another_floating_dtype_is_cast_or_refused(case, backend, backend32):
    """Where the framework casts, the answer is that of the weights' dtype; where it does not, both dtypes are named."""
    name, arguments, inputs, refused, _ = case
    inputs = [part.astype(float) / 48 if part is WHOLE else part for part in inputs]
    layer = backend32.layer(name, *arguments)

    narrow = array(backend32, natively(backend32, layer, *inputs))
    try:
        wide = array(backend, as_they_are(backend32, layer, *native(backend, inputs)))
    except DtypeError as error:
        assert str(error) == f"{refused} must have dtype float32 as the weights have, got float64."
    else:
        np.testing.assert_allclose(wide, narrow, rtol=1e-4, atol=1e-5)


def test_attention_without_weights_wants_one_dtype(backend, backend32):
    layer = backend.layer("DotProductAttention", 0.0)
    try:
        output = layer(native(backend, X), native(backend32, X), native(backend32, X))
    except DtypeError as error:
        assert str(error) == "keys must have dtype float64 as the queries have, got float32."
    else:
        np.testing.assert_allclose(array(backend, output), backend.apply(layer, X, X, X), rtol=1e-4)


OUT_OF_RANGE = ([9, 2], [-1, 2], [2.5, 2.0], [np.nan, 2.0])


@pytest.mark.parametrize("lens", OUT_OF_RANGE, ids=str)
def test_apply_and_gradients_refuse_lengths_out_of_range(lens, backend):
    """What a backend compiles is no way around the checks of its layers."""
    layer, lens = backend.layer("EncoderBlock", *BLOCK), np.array(lens)
    for call in (lambda: backend.apply(layer, X, lens), lambda: backend.gradients(layer, [X, lens], np.ones_like(X))):
        with pytest.raises(TokenError, match="valid_lens must hold (lengths from 0 to 3|whole numbers), got"):
            call()


def test_apply_refuses_ids_out_of_range(backend):
    with pytest.raises(TokenError, match="must hold token ids from 0 to 8, got 9"):
        backend.apply(backend.layer("TransformerEncoder", *STACK), IDS + 3)
    with pytest.raises(TokenError, match=r"valid_lens must hold lengths from 0 to 8, got \[20, 30\]"):
        backend.apply(backend.masked_softmax, X, LENS * 10)
