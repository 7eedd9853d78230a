"""Malformed native calls: one sentence in the same words in every backend, which names what must be and what was got.

The calls are eager, on the framework's own tensors: what is compiled checks shapes and dtypes alone.
"""

from functools import partial

import numpy as np
import pytest

from transformer_mb.conformance.native_calls import array, as_they_are, native, natively
from transformer_mb.errors import ConfigError, DtypeError, ShapeError, TokenError
from transformer_mb.presets import d2l

BLOCK = (8, 8, 8, 8, [8], 8, 16, 2, 0.0)
STACK = (9, *BLOCK[:-1], 1, 0.0)
ATTENTION = (8, 8, 8, 8, 2, 0.0)
X = np.linspace(-1.0, 1.0, 48).reshape(2, 3, 8)
HEADS = X.reshape(2, 3, 2, 4).swapaxes(1, 2)
IDS = np.array([[1, 2, 3], [4, 5, 6]])
LOGITS = np.ones((2, 3, 9))
LENS = np.array([2, 3])
START = [X, LENS, [None]]
CONFIG = d2l(9, 9)


def called(backend, name, arguments, inputs, options):
    """The layer, or the function, on native tensors; lists stay lists."""
    layer = backend.layer(name, *arguments) if arguments is not None else getattr(backend, name)
    return natively(backend, layer, *inputs, **options)


IDS_OF = "The input of TransformerEncoder must"
RANKS = {
    "ids [T], encoder": ("TransformerEncoder", STACK, (IDS[0],), {}, f"{IDS_OF} have shape [B, T] with at least one token, got [3]."),
    "ids [T], decoder": ("TransformerDecoder", STACK, (IDS[0], START), {}, "The input of TransformerDecoder must have shape [B, T] with at least one token, got [3]."),
    "ids of three axes": ("TransformerEncoder", STACK, (IDS[None],), {}, f"{IDS_OF} have shape [B, T] with at least one token, got [1, 2, 3]."),
    "no ids": ("TransformerEncoder", STACK, (IDS[:, :0],), {}, f"{IDS_OF} have shape [B, T] with at least one token, got [2, 0]."),
    "inputs [T, D]": ("EncoderBlock", BLOCK, (X[0],), {}, "X must have shape [B, T, 8], got [3, 8]."),
    "inputs [T, D], decoder": ("DecoderBlock", (*BLOCK, 0), (X[0], START), {}, "X must have shape [B, T, 8], got [3, 8]."),
    "positions of [T, D]": ("PositionalEncoding", (8, 0.0), (X[0],), {}, "The input of PositionalEncoding must have shape [B, T, 8], got [3, 8]."),
    "queries of two axes": ("DotProductAttention", (0.0,), (X[0], X[0], X[0]), {}, "queries, keys and values must all have shape [B, T, D] or all [B, H, T, D], got [3, 8], [3, 8] and [3, 8]."),
    "heads and none": ("DotProductAttention", (0.0,), (HEADS, X, X), {}, "queries, keys and values must all have shape [B, T, D] or all [B, H, T, D], got [2, 2, 3, 4], [2, 3, 8] and [2, 3, 8]."),
    "scores of two axes": ("masked_softmax", None, (X[0],), {}, "X must have shape [B, T, S] or [B, H, T, S], got [3, 8]."),
    "no steps": ("sequence_mask", None, (X[0, 0], LENS), {}, "X must have shape [B, S, ...], got [8]."),
    "heads of two axes": ("transpose_qkv", None, (X[0], 2), {}, "X must have shape [B, T, D], D being divisible by num_heads = 2, got [3, 8]."),
    "logits of two axes": ("MaskedSoftmaxCELoss", (), (LOGITS[0], IDS, LENS), {}, "pred must have shape [B, T, V], got [3, 9]."),
}  # fmt: skip
WIDTHS = {
    "positions": ("PositionalEncoding", (6, 0.0), (X,), {}, "The input of PositionalEncoding must have shape [B, T, 6], got [2, 3, 8]."),
    "block": ("EncoderBlock", BLOCK, (X[..., :4],), {}, "X must have shape [B, T, 8], got [2, 3, 4]."),
    "attention": ("MultiHeadAttention", ATTENTION, (X[..., :4], X, X), {}, "queries must have shape [B, T, 8], got [2, 3, 4]."),
    "queries and keys": ("DotProductAttention", (0.0,), (X[..., :4], X, X), {}, "queries and keys must have the same width, got [2, 3, 4] and [2, 3, 8]."),
    "add and norm": ("AddNorm", ([4], 0.0), (X, X), {}, "X must end in the sizes [4], got [2, 3, 8]."),
    "add and norm, other": ("AddNorm", ([8], 0.0), (X, X[..., :4]), {}, "Y must end in the sizes [8], got [2, 3, 4]."),
    "ffn": ("PositionWiseFFN", (4, 5, 6), (X,), {}, "The input of PositionWiseFFN must have shape [B, T, 4], got [2, 3, 8]."),
    "heads": ("transpose_qkv", None, (X, 3), {}, "X must have shape [B, T, D], D being divisible by num_heads = 3, got [2, 3, 8]."),
    "other heads": ("transpose_output", None, (HEADS, 4), {}, "X must have shape [B, H, T, D/H] with H = num_heads = 4, got [2, 2, 3, 4]."),
    "encoder's outputs": ("DecoderBlock", (*BLOCK, 0), (X, [X[..., :4], LENS, [None]]), {}, "keys must have shape [B, T, 8], got [2, 3, 4]."),
}  # fmt: skip
BATCHES = {
    "lengths": ("TransformerEncoder", STACK, (IDS, np.array([1, 2, 3])), {}, "valid_lens must have shape [2] or [2, 3], got [3]."),
    "lengths, attention": ("MultiHeadAttention", ATTENTION, (X, X, X, LENS[:1]), {}, "valid_lens must have shape [2] or [2, 3], got [1]."),
    "lengths, softmax": ("masked_softmax", None, (X, LENS[:1]), {}, "valid_lens must have shape [2] or [2, 3], got [1]."),
    "lengths, steps": ("sequence_mask", None, (X, LENS[:1]), {}, "valid_len must have shape [2], got [1]."),
    "lengths, loss": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS, LENS[:1]), {}, "valid_len must have shape [2], got [1]."),
    "labels": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS[:, :2], LENS), {}, "label must have shape [2, 3], one for each step of pred, got [2, 2]."),
    "encoder's outputs": ("TransformerDecoder", STACK, (IDS, [X[:1], LENS[:1], [None]]), {}, "X must have batch size 1 as the encoder's outputs have, got 2."),
    "encoder's lengths": ("TransformerDecoder", STACK, (IDS, [X, LENS[:1], [None]]), {}, "valid_lens must have shape [2] or [2, 3], got [1]."),
    "state": ("TransformerDecoder", STACK, (IDS, [X, LENS]), {}, "The state of TransformerDecoder must be [enc_outputs, enc_valid_lens, caches] with 1 or more caches (None each at the start), got 2 parts."),
    "caches": ("DecoderBlock", (*BLOCK, 1), (X, START), {}, "The state of DecoderBlock must be [enc_outputs, enc_valid_lens, caches] with 2 or more caches (None each at the start), got 1 of them."),
    "mask": ("DotProductAttention", (0.0,), (X, X, X), {"mask": np.ones((2, 3, 4), bool)}, "mask must be broadcastable to the scores [2, 3, 3], got [2, 3, 4]."),
    "mask of three axes": ("MultiHeadAttention", ATTENTION, (X, X[:, :2], X[:, :2]), {"mask": np.ones((3, 3, 2), bool)}, "mask must be broadcastable to the scores [2, 2, 3, 2]; of three dimensions it is [B, T, S] = [2, 3, 2], the same for every head, got [3, 3, 2]."),
    "mask of keys": ("MultiHeadAttention", ATTENTION, (X, X, X), {"mask": np.ones((2, 3), bool)}, "mask must be broadcastable to the scores [2, 2, 3, 3], got [2, 3]; a mask [B, S] of keys is given as mask[:, None]."),
    "mask of no axes": ("MultiHeadAttention", ATTENTION, (X, X, X), {"mask": True}, "mask must be a boolean tensor [T, S], [B, T, S] or [B, H, T, S], got a single value."),
    "mask of more axes": ("MultiHeadAttention", ATTENTION, (X, X, X), {"mask": np.ones((1, 2, 1, 3, 3), bool)}, "mask must be broadcastable to the scores [2, 2, 3, 3], got [1, 2, 1, 3, 3]."),
}  # fmt: skip
VALUES = {
    "id too large": ("TransformerEncoder", STACK, (IDS + 3,), {}, f"{IDS_OF} hold token ids from 0 to 8, got 9."),
    "id far too large": ("TransformerDecoder", STACK, (IDS * 99, START), {}, "The input of TransformerDecoder must hold token ids from 0 to 8, got 594."),
    "id negative": ("TransformerEncoder", STACK, (IDS - 2,), {}, f"{IDS_OF} hold token ids from 0 to 8, got -1."),
    "label too large": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS + 3, LENS), {}, "label must hold token ids from 0 to 8, got 9."),
    "label negative": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS - 101, LENS), {}, "label must hold token ids from 0 to 8, got -100."),
    "length negative": ("TransformerEncoder", STACK, (IDS, LENS - 6), {}, "valid_lens must hold lengths from 0 to 3, got [-4, -3]."),
    "length too large": ("TransformerEncoder", STACK, (IDS, LENS * 10), {}, "valid_lens must hold lengths from 0 to 3, got [20, 30]."),
    "length too large, block": ("EncoderBlock", BLOCK, (X, LENS * 10), {}, "valid_lens must hold lengths from 0 to 3, got [20, 30]."),
    "length too large, attention": ("MultiHeadAttention", ATTENTION, (X, X, X, LENS * 10), {}, "valid_lens must hold lengths from 0 to 3, got [20, 30]."),
    "length too large, each step": ("DotProductAttention", (0.0,), (X, X, X, np.full((2, 3), 4)), {}, "valid_lens must hold lengths from 0 to 3, got [[4, 4, 4], [4, 4, 4]]."),
    "length too large, decoder": ("TransformerDecoder", STACK, (IDS, [X, LENS * 10, [None]]), {}, "valid_lens must hold lengths from 0 to 3, got [20, 30]."),
    "length too large, softmax": ("masked_softmax", None, (X, LENS * 10), {}, "valid_lens must hold lengths from 0 to 8, got [20, 30]."),
    "length negative, steps": ("sequence_mask", None, (X, -LENS), {}, "valid_len must hold lengths from 0 to 3, got [-2, -3]."),
    "length too large, loss": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS, LENS * 10), {}, "valid_len must hold lengths from 0 to 3, got [20, 30]."),
    "one length of many too large": ("sequence_mask", None, (np.ones((64, 3)), np.arange(64) // 60 * 4), {}, "valid_len must hold lengths from 0 to 3, got 4 at [60] of [64]."),
    "offset negative": ("PositionalEncoding", (8, 0.0), (X, -1), {}, "offset must not be negative, got -1."),
    "offset too large": ("PositionalEncoding", (8, 0.0, 5), (X, 3), {}, "A sequence must be at most max_len = 5 tokens long, got 6."),
}  # fmt: skip
BOOLEAN = "valid_lens must hold whole numbers, got dtype bool: a mask goes to mask=, of attention or of an encoder block."
# MXNet makes floats of a list of whole numbers, which are ids all the same: a fraction is none anywhere.
DTYPES = {
    "float ids": ("TransformerEncoder", STACK, (IDS + 0.5,), {}, f"{IDS_OF} hold whole numbers, got dtype float64."),
    "float ids, decoder": ("TransformerDecoder", STACK, (IDS + 0.5, START), {}, "The input of TransformerDecoder must hold whole numbers, got dtype float64."),
    "boolean ids": ("TransformerEncoder", STACK, (IDS > 3,), {}, f"{IDS_OF} hold whole numbers, got dtype bool."),
    "float labels": ("MaskedSoftmaxCELoss", (), (LOGITS, IDS + 0.5, LENS), {}, "label must hold whole numbers, got dtype float64."),
    "float lengths": ("TransformerEncoder", STACK, (IDS, LENS - 0.5), {}, "valid_lens must hold whole numbers, got 1.5."),
    "boolean lengths": ("MultiHeadAttention", ATTENTION, (X, X, X, LENS > 2), {}, BOOLEAN),
    "a mask for lengths": ("MultiHeadAttention", ATTENTION, (X, X, X, np.ones((2, 3, 3), bool)), {}, BOOLEAN),
    "a mask for lengths, block": ("EncoderBlock", BLOCK, (X, np.ones((2, 1, 3, 3), bool)), {}, BOOLEAN),
    "no number": ("EncoderBlock", BLOCK, (X, np.array([2.0, np.nan])), {}, "valid_lens must hold whole numbers, got nan."),
}  # fmt: skip
MASKS = {
    "float": ("MultiHeadAttention", ATTENTION, (X, X, X), {"mask": np.ones((3, 3))}, "mask must be boolean, True where a query may attend, got dtype float64: of ones and zeros give mask > 0, of numbers to add to the scores mask > -1."),
    "added": ("DotProductAttention", (0.0,), (X, X, X), {"mask": np.triu(np.full((3, 3), -1e9), 1)}, "mask must be boolean, True where a query may attend, got dtype float64: of ones and zeros give mask > 0, of numbers to add to the scores mask > -1."),
    "numbers": ("masked_softmax", None, (X,), {"mask": np.ones((2, 3, 8), int)}, "mask must be boolean, True where a query may attend, got dtype int64: of ones and zeros give mask > 0, of numbers to add to the scores mask > -1."),
    "block": ("EncoderBlock", BLOCK, (X,), {"mask": np.ones((3, 3))}, "mask must be boolean, True where a query may attend, got dtype float64: of ones and zeros give mask > 0, of numbers to add to the scores mask > -1."),
}  # fmt: skip


def cases(table):
    return pytest.mark.parametrize("case", table.values(), ids=table)


def refuses(backend, case, kind):
    *call, sentence = case
    with pytest.raises(kind) as raised:
        called(backend, *call)
    assert str(raised.value) == sentence


SHAPES = {f"{what}, {name}": case for what, table in (("rank", RANKS), ("width", WIDTHS)) for name, case in table.items()}
REFUSED = {ShapeError: {**SHAPES, **BATCHES}, TokenError: {**VALUES, **DTYPES}, DtypeError: MASKS}


@cases({name: (kind, case) for kind, table in REFUSED.items() for name, case in table.items()})
def test_a_malformed_call_is_refused(case, backend):
    kind, case = case
    refuses(backend, case, kind)


LISTS = {
    "ids and lengths": ("TransformerEncoder", STACK, (IDS, LENS), {}),
    "lengths of each step": ("MultiHeadAttention", ATTENTION, (X, X, X, np.array([[1, 2, 3], [3, 2, 1]])), {}),
    "lengths, by name": ("EncoderBlock", BLOCK, (X,), {"valid_lens": LENS}),
    "a mask": ("DotProductAttention", (0.0,), (X, X, X), {"mask": np.tri(3, dtype=bool)}),
    "softmax": ("masked_softmax", None, (X, LENS), {}),
    "steps": ("sequence_mask", None, (X, LENS), {}),
    "a loss": ("MaskedSoftmaxCELoss", (), (X, IDS, LENS), {}),
}


@cases(LISTS)
def test_lists_and_numpy_arrays_are_taken(case, backend):
    """As ids, lengths and masks, beside the framework's own tensors."""
    name, arguments, inputs, options = case
    layer = backend.layer(name, *arguments) if arguments is not None else getattr(backend, name)

    def answer(whole):
        def given(value):
            if isinstance(value, list | tuple):
                return [given(part) for part in value]
            if not isinstance(value, np.ndarray):
                return value
            return whole(value) if value.dtype.kind in "ib" else native(backend, value)

        output = as_they_are(backend, layer, *given(inputs), **{name: given(value) for name, value in options.items()})
        return array(backend, output)

    expected = answer(partial(native, backend))
    np.testing.assert_array_equal(answer(np.ndarray.tolist), expected)
    np.testing.assert_array_equal(answer(np.copy), expected)


def test_a_model_takes_lists(backend):
    model = backend.build(CONFIG)
    found = array(backend, as_they_are(backend, model, IDS.tolist(), IDS.tolist(), LENS.tolist()))
    np.testing.assert_allclose(found, backend.logits(model, IDS, IDS, LENS), rtol=1e-12)


def test_what_is_no_tensor_is_named(backend):
    encoder, model = backend.layer("TransformerEncoder", *STACK), backend.build(CONFIG)
    for given, got in ((None, "None"), ("go .", "a str")):
        sentence = f"{IDS_OF} be a tensor, an array or lists of numbers, got {got}."
        refuses(backend, ("TransformerEncoder", STACK, (given,), {}, sentence), ShapeError)
    with pytest.raises(ShapeError, match="must be a tensor, or lists of equal lengths, got lists of unequal lengths"):
        encoder([[1, 2], [3]])
    with pytest.raises(ShapeError, match="enc_X must be token ids .B, T. for a model with encoder, got None"):
        natively(backend, model, None, IDS)
    with pytest.raises(ShapeError, match="dec_X must be token ids .B, T. for a model with decoder, got None"):
        natively(backend, model, IDS)


def test_a_model_refuses_lengths_and_targets_of_another_batch(backend):
    """Lengths of another batch, targets of another batch."""
    model = backend.build(CONFIG)
    with pytest.raises(ShapeError, match=r"^valid_lens must have shape \[2\] or \[2, 3\], got \[3\]\.$"):
        natively(backend, model, IDS, IDS, np.array([1, 2, 3]))
    with pytest.raises(ShapeError, match="^X must have batch size 2 as the encoder's outputs have, got 1"):
        natively(backend, model, IDS, IDS[:1], LENS)


def test_token_types_need_their_table_and_fit_it(backend):
    sentence = "token_types must be None for an encoder without a table of token types, got some."
    refuses(backend, ("TransformerEncoder", STACK, (IDS,), {"token_types": IDS}, sentence), ConfigError)
    with pytest.raises(TokenError, match="token_types must hold token ids from 0 to 1, got 6"):
        natively(backend, backend.layer("TransformerEncoder", *STACK, token_types=2), IDS, token_types=IDS)


def test_the_name_of_a_preset_is_no_configuration(backend):
    for made in (backend.build, backend.create_empty, backend.EncoderDecoder.from_config):
        with pytest.raises(ConfigError, match="config must be a TransformerConfig, such as presets.d2l.*gives, got 'd2l'"):
            made("d2l")
    with pytest.raises(ConfigError, match="A layer must be one of LayerNorm, .*, got 'LayerNrm'"):
        backend.layer("LayerNrm", 8)


BATCHES_TO_TRAIN_ON = {
    "two parts": (([1], [2]), ShapeError, "A batch must be a Batch(source, source_valid_lens, target_in, target_out, target_valid_lens), got 2 parts."),
    "no tuple": ("a batch", ShapeError, "A batch must be a Batch(source, source_valid_lens, target_in, target_out, target_valid_lens), got a str."),
    "ids [T]": ((IDS[0], LENS, IDS, IDS, LENS), ShapeError, "source must have shape [B, steps] with at least one token, got [3]."),
    "id too large": ((IDS, LENS, IDS, IDS * 99, LENS), TokenError, "target_out must hold token ids from 0 to 8, got 594."),
    "length": ((IDS, LENS * 10, IDS, IDS, LENS), TokenError, "source_valid_lens must hold lengths from 0 to 3, got [20, 30]."),
    "labels": ((IDS, LENS, IDS, IDS[:, :2], LENS), ShapeError, "target_in and target_out must have the same shape, got [2, 3] and [2, 2]."),
}  # fmt: skip


@cases(BATCHES_TO_TRAIN_ON)
def test_a_batch_that_does_not_fit(case, backend):
    batch, kind, sentence = case
    trainer = backend.trainer(backend.build(CONFIG))
    with pytest.raises(kind) as raised:
        trainer.step(batch)
    assert str(raised.value) == sentence and trainer.step_count == 0


def test_logits_and_attention_take_the_models_arguments_in_its_order(backend):
    """backend.logits and backend.attention take what the model itself takes, in its order."""
    model = backend.build(CONFIG)
    inputs = (IDS, IDS[:, ::-1].copy(), LENS)
    expected = array(backend, natively(backend, model, *inputs))
    np.testing.assert_allclose(backend.logits(model, *inputs), expected, rtol=1e-12)
    assert [weights.shape for weights in backend.attention(model, IDS, IDS[:, :2], LENS)["decoder_cross"]] == [(2, 4, 2, 3)] * 2
    with pytest.raises(ShapeError, match=r"source_valid_lens must have shape \[2\], got \[2, 3\]"):
        backend.logits(model, IDS, LENS, IDS)
