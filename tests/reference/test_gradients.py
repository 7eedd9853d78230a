"""The hand-derived gradients against central differences in float64: every coordinate of every input and parameter."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from transformer_mb.backends.numpy.dropout import injected_dropout
from transformer_mb.backends.numpy.framework import no_gradients
from transformer_mb.config import TransformerConfig
from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.registry import get_backend
from transformer_mb.trees import leaves

STEP = 1e-5
LIMIT = 1e-6
BACKEND = get_backend("numpy", dtype="float64")
B, T, S, D, H, F = 2, 3, 4, 4, 2, 5


def difference(function, array):
    """The gradient of ``function()`` with respect to the array, which is changed and restored in place."""
    result = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        value = array[place]
        array[place] = value + STEP
        above = function()
        array[place] = value - STEP
        result[place] = (above - function()) / (2.0 * STEP)
        array[place] = value
    return result


def assert_equal_gradients(got, expected):
    """||got - expected|| is small for each; the floor keeps gradients that are zero in theory from dividing by nothing."""
    assert got.keys() == expected.keys()
    floor = 1e-2 * np.sqrt(sum(np.sum(np.square(gradient)) for gradient in expected.values()))
    assert floor > 0.0
    for name in expected:
        error = np.linalg.norm(got[name] - expected[name]) / np.maximum(np.linalg.norm(expected[name]), floor)
        assert error <= LIMIT, f"{name}: {error:.1e}"


def randomise(module, rng):
    for name, parameter in module.named_parameters():
        scale = 1.0 if name.endswith(("ln.weight", "norm.weight")) else 0.0
        parameter.value[...] = scale + 0.6 * rng.standard_normal(parameter.value.shape)


@dataclass(frozen=True)
class Case:
    layer: str
    arguments: tuple[Any, ...]
    inputs: Any  # a function of a generator
    options: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)


def normal(*shape):
    return lambda rng: [rng.standard_normal(shape)]


def attending(lens=None, steps=T, keys=S, sizes=(D, D, D), heads=(), **call):
    """Queries, keys and values, and masks."""

    def inputs(rng):
        shapes = [(B, *heads, n, size) for n, size in zip((steps, keys, keys), sizes, strict=True)]
        return [*(rng.standard_normal(shape) for shape in shapes), None if lens is None else np.array(lens)]

    return {"inputs": inputs, "call": call}


def decoding(enc_outputs=True, lens=(4, 2)):
    def inputs(rng):
        state = [rng.standard_normal((B, S, D)), np.array(lens), [None]] if enc_outputs else [None, None, [None]]
        return [rng.standard_normal((B, T, D)), state]

    return inputs


SOURCE, SOURCE_LENS = np.array([[4, 5, 3, 1], [5, 0, 4, 3]]), np.array([3, 4])
TARGET, LABELS, TARGET_LENS = np.array([[2, 5, 4], [2, 0, 0]]), np.array([[5, 4, 3], [0, 3, 1]]), np.array([3, 2])
EMPTY_ROW = [[1, 4, 2], [0, 3, 4]]
MASK = np.array([[[[True, False, True, True]]], [[[False, True, True, False]]]])
HEAD_MASK = np.random.default_rng(3).random((B, H, T, S)) < 0.6
MHA = ("MultiHeadAttention", (D, D, D, D, H, 0.0))
MHA_BIAS = ("MultiHeadAttention", (D, D, D, D, H, 0.0, True))
BLOCK = (D, D, D, D, [D], D, F, H, 0.0)
LAYERS = {
    "layer norm": Case("LayerNorm", (D,), normal(B, T, D)),
    "layer norm over two axes": Case("LayerNorm", ([T, D],), normal(B, T, D), {"eps": 0.1}),
    "layer norm, no affine": Case("LayerNorm", (D,), normal(B, T, D), {"affine": False}),
    "std norm": Case("LayerNorm", (D,), normal(B, T, D), {"kind": "std_norm", "eps": 1e-6}),
    "rms norm": Case("LayerNorm", (D,), normal(B, T, D), {"kind": "rms_norm"}),
    "rms norm over two axes, large epsilon": Case("LayerNorm", ([T, D],), normal(B, T, D), {"kind": "rms_norm", "eps": 0.5}),
    "rms norm without affine": Case("LayerNorm", (D,), normal(B, T, D), {"kind": "rms_norm", "affine": False}),
    "std norm, large epsilon": Case("LayerNorm", ([T, D],), normal(B, T, D), {"kind": "std_norm", "eps": 0.5}),
    "post": Case("AddNorm", (D, 0.0), lambda rng: [rng.standard_normal((B, T, D)) for _ in range(2)]),
    "pre": Case("AddNorm", (D, 0.0), lambda rng: [rng.standard_normal((B, T, D)) for _ in range(2)], {"norm_position": "pre"}),
    **{
        f"ffn {name}": Case("PositionWiseFFN", (D, F, 3), normal(B, T, D), {"activation": name, "use_bias": name != "silu"})
        for name in ("relu", "gelu", "gelu_tanh", "silu")
    },
    "dot product": Case("DotProductAttention", (0.0,), **attending()),
    "dot product, lens": Case("DotProductAttention", (0.0,), **attending([4, 0])),
    "dot product, heads": Case("DotProductAttention", (0.0,), **attending(EMPTY_ROW, heads=(H,))),
    "dot product, mask": Case("DotProductAttention", (0.0,), **attending(heads=(H,), mask=HEAD_MASK)),
    "attention": Case(*MHA, **attending()),
    "attention, lens": Case(*MHA_BIAS, **attending([1, 3])),
    "attention, an empty row": Case(*MHA_BIAS, **attending(EMPTY_ROW)),
    "attention, mask": Case(*MHA, **attending(mask=MASK)),
    "attention, all masks": Case(*MHA, **attending(EMPTY_ROW, mask=HEAD_MASK, causal=True)),
    "attention, causal": Case(*MHA, **attending(steps=4, causal=True)),
    "attention, causal, more queries than keys": Case(*MHA, **attending(steps=4, keys=3, causal=True)),
    "attention, one query": Case(*MHA, **attending([2, 0], steps=1, causal=True)),
    "attention of three sizes": Case("MultiHeadAttention", (6, 3, 5, D, H, 0.0, True), **attending([3, 4], sizes=(3, 6, 5))),
    "positions": Case("PositionalEncoding", (D, 0.0), lambda rng: [rng.standard_normal((B, T, D)), 2]),
    "loss": Case("MaskedSoftmaxCELoss", (), lambda rng: [rng.standard_normal((B, T, 6)), LABELS, np.array([3, 1])]),
    "loss, smoothed, per token": Case(
        "MaskedSoftmaxCELoss",
        (),
        lambda rng: [60.0 * rng.standard_normal((B, T, 6)), LABELS, np.array([2, 0])],
        {"label_smoothing": 0.1, "normalization": "tokens"},
    ),
    "encoder block": Case("EncoderBlock", BLOCK, lambda rng: [rng.standard_normal((B, T, D)), np.array([3, 1])]),
    "encoder block, pre": Case(
        "EncoderBlock",
        (*BLOCK, True),
        lambda rng: [rng.standard_normal((B, T, D)), np.array([[1, 3, 2], [0, 3, 1]])],
        {"norm_position": "pre"},
    ),
    "encoder block over two axes": Case("EncoderBlock", (D, D, D, D, [T, D], D, F, H, 0.0), normal(B, T, D)),
    "decoder block": Case("DecoderBlock", (*BLOCK, 0), decoding()),
    "decoder block, pre": Case("DecoderBlock", (*BLOCK, 0, True), decoding(lens=EMPTY_ROW), {"norm_position": "pre"}),
    "decoder block, no encoder outputs": Case("DecoderBlock", (*BLOCK, 0), decoding(False)),
    "decoder block, no cross-attention": Case("DecoderBlock", (*BLOCK, 0), decoding(False), {"cross_attention": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    case, rng = LAYERS[name], np.random.default_rng(11)
    layer = BACKEND.layer(case.layer, *case.arguments, **case.options)
    randomise(layer, rng)
    inputs = case.inputs(rng)
    output = first(BACKEND.apply(layer, *inputs, **case.call))
    cotangent = rng.standard_normal(output.shape)

    def function():
        return float(np.vdot(first(BACKEND.apply(layer, *inputs, **case.call)), cotangent))

    by_gradients, by_input, by_name = BACKEND.gradients(layer, inputs, cotangent, **case.call)
    np.testing.assert_array_equal(by_gradients, output)
    got = {**by_name, **{i: gradient for i, gradient in enumerate(by_input) if gradient is not None}}
    floats = {i: leaf for i, leaf in enumerate(leaves(inputs)) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"}
    assert len(floats) > 0
    expected = {i: difference(function, array) for i, array in floats.items()}
    expected.update((name, difference(function, parameter.value)) for name, parameter in layer.named_parameters())
    assert_equal_gradients(got, expected)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def test_one_array_in_several_places():
    """The joined projections give the sum of the gradients that separate inputs get."""
    rng = np.random.default_rng(5)
    layer = BACKEND.layer(*MHA_BIAS[:1], *MHA_BIAS[1])
    randomise(layer, rng)
    X, Y, cotangent = rng.standard_normal((B, T, D)), rng.standard_normal((B, S, D)), rng.standard_normal((B, T, D))
    for inputs in ((X, X, X), (X, Y, Y)):
        output, separate, by_name = BACKEND.gradients(layer, inputs, cotangent)
        layer.zero_gradients()
        np.testing.assert_allclose(layer(*inputs), output, rtol=1e-13)
        joined = layer.backward(cotangent)
        expected = [sum(separate)] if inputs[1] is X else [separate[0], separate[1] + separate[2]]
        assert joined[len(expected) :] == (None,) * (3 - len(expected))
        for got, gradient in zip(joined, expected, strict=False):
            np.testing.assert_allclose(got, gradient, rtol=1e-11, atol=1e-13)
        for name, parameter in layer.named_parameters():
            np.testing.assert_allclose(parameter.gradient, by_name[name], rtol=1e-11, atol=1e-13)


TINY = {
    "source_vocab_size": 7,
    "target_vocab_size": 6,
    "num_hiddens": D,
    "ffn_num_hiddens": F,
    "encoder_num_heads": H,
    "decoder_num_heads": H,
    "encoder_num_layers": 1,
    "decoder_num_layers": 1,
    "max_len": 6,
}
ONE_TABLE = {**TINY, "source_vocab_size": 6, "share_embeddings": True, "tie_output": True}
MODELS = {
    "post-norm": {**TINY, "decoder_num_layers": 2},
    "pre-norm, final norm, biases": {
        **TINY,
        "norm_position": "pre",
        "final_norm": True,
        "encoder_attention_bias": True,
        "decoder_attention_bias": True,
    },
    "std norm, gelu": {**TINY, "norm_kind": "std_norm", "norm_eps": 1e-6, "activation": "gelu"},
    "rms norm, pre-norm": {**TINY, "norm_kind": "rms_norm", "norm_position": "pre", "final_norm": True},
    "gelu_tanh, halves": {**TINY, "activation": "gelu_tanh", "sinusoid_layout": "halves", "norm_affine": False},
    "silu, learned positions": {
        **TINY,
        "activation": "silu",
        "position": "learned",
        "position_offset": 1,
        "embedding_norm": True,
    },
    "shared and tied": {**ONE_TABLE, "output_bias": False, "embedding_scale": False},
    "decoder alone": {
        **{key: value for key, value in TINY.items() if key != "source_vocab_size"},
        "architecture": "decoder",
        "decoder_num_layers": 2,
        "norm_position": "pre",
    },
}


def model_gradients(fields, with_dropout):
    """Gradients of the loss by backward and by differences."""
    config = TransformerConfig(**fields, dropout=0.3, attention_dropout=0.2, ffn_dropout=0.25)
    model = BACKEND.create_empty(config)
    randomise(model, np.random.default_rng(2))
    source = (SOURCE, SOURCE_LENS) if config.has_encoder else (None, None)
    masks = dropout_masks(config, 1, 1, B, S, T) if with_dropout else None

    def loss():
        model.train(with_dropout)
        with no_gradients(), injected_dropout(model, masks):
            logits, _ = model(source[0], TARGET, source[1])
            return float(smoothed(logits, LABELS, TARGET_LENS).sum())

    smoothed = BACKEND.layer("MaskedSoftmaxCELoss", label_smoothing=0.1)
    expected = {name: difference(loss, parameter.value) for name, parameter in model.named_parameters()}
    targets = (TARGET, LABELS, TARGET_LENS)
    value, got = BACKEND.loss_and_gradients(model, *source, *targets, label_smoothing=0.1, dropout_masks=masks)
    assert value == loss()
    return config, got, expected


@pytest.mark.parametrize("with_dropout", [False, True], ids=["evaluation", "dropout masks"])
@pytest.mark.parametrize("name", MODELS)
def test_model(name, with_dropout):
    _, got, expected = model_gradients(MODELS[name], with_dropout)
    assert_equal_gradients(got, expected)


def test_the_padding_vector_gets_no_gradient_from_either_use_of_its_table():
    config, got, expected = model_gradients({**ONE_TABLE, "padding_vector_zero": True}, False)
    table = expected["encoder.embedding.weight"]
    assert np.abs(table[config.pad_id]).max() > 0.0  # it would have one
    table[config.pad_id] = 0.0
    assert_equal_gradients(got, expected)
    np.testing.assert_array_equal(got["encoder.embedding.weight"][config.pad_id], 0.0)


def test_encoder_alone_with_types_embedding_norm_and_pooler():
    config = TransformerConfig(
        architecture="encoder",
        source_vocab_size=7,
        num_hiddens=D,
        ffn_num_hiddens=F,
        encoder_num_heads=H,
        encoder_num_layers=1,
        max_len=6,
        position="learned",
        embedding_norm=True,
        embedding_scale=False,
        token_types=2,
        pooler=True,
        activation="gelu",
        encoder_attention_bias=True,
    )
    rng = np.random.default_rng(4)
    model = BACKEND.create_empty(config).eval()
    randomise(model, rng)
    cotangent = rng.standard_normal((B, D))
    for types in (None, np.array([[0, 0, 1, 1], [0, 1, 1, 1]])):

        def function(types=types):
            return float(np.vdot(model.pooler(model.encoder(SOURCE, SOURCE_LENS, token_types=types)), cotangent))

        expected = {name: difference(function, parameter.value) for name, parameter in model.named_parameters()}
        model.zero_gradients()
        function()
        model.encoder.backward(model.pooler.backward(cotangent))
        assert_equal_gradients({name: parameter.gradient for name, parameter in model.named_parameters()}, expected)


def test_a_difference_sees_a_wrong_gradient():
    """The check can fail: one coordinate of one gradient, changed by a hundred-thousandth of its whole."""
    _, got, expected = model_gradients(MODELS["decoder alone"], False)
    table = got["decoder.dense.weight"]
    table[1, 2] += 1e-5 * np.linalg.norm(table)
    with pytest.raises(AssertionError, match=r"decoder\.dense\.weight"):
        assert_equal_gradients(got, expected)


def test_backward_needs_a_forward():
    layer = BACKEND.layer("PositionWiseFFN", D, F, D)
    with pytest.raises(RuntimeError, match="backward needs a forward before it"):
        layer.backward(np.zeros((B, T, D)))
