"""The hand-derived gradients against central differences in float64: every coordinate of every input and parameter."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

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


def grouped(rng):
    """Four heads of queries, two of keys and values."""
    return [rng.standard_normal((B, heads, steps, D)) for heads, steps in ((4, T), (2, S), (2, S))]


SOURCE, SOURCE_LENS = np.array([[4, 5, 3, 1], [5, 0, 4, 3]]), np.array([3, 4])
TARGET, LABELS, TARGET_LENS = np.array([[2, 5, 4], [2, 0, 0]]), np.array([[5, 4, 3], [0, 3, 1]]), np.array([3, 2])
EMPTY_ROW = [[1, 4, 2], [0, 3, 4]]
MASK = np.array([[[[True, False, True, True]]], [[[False, True, True, False]]]])
HEAD_MASK = np.random.default_rng(3).random((B, H, T, S)) < 0.6
GROUPED_MASK = np.random.default_rng(4).random((B, 4, T, S)) < 0.6
MHA = ("MultiHeadAttention", (D, D, D, D, H, 0.0))
MHA_BIAS = ("MultiHeadAttention", (D, D, D, D, H, 0.0, True))
MHA_OF_FOUR = ("MultiHeadAttention", (D, D, D, D, 4, 0.0, True))
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
    "ffn gated": Case("PositionWiseFFN", (D, F, 3), normal(B, T, D), {"activation": "gelu_tanh", "gated": True}),
    "dot product, not scaled": Case("DotProductAttention", (0.0,), **attending(), options={"scaled": False}),
    "attention, heads of their own width": Case(*MHA_BIAS, **attending([1, 3]), options={"head_size": 5}),
    "dot product, fewer heads of keys": Case("DotProductAttention", (0.0,), grouped, call={"mask": GROUPED_MASK}),
    "attention, fewer heads of keys": Case(*MHA_OF_FOUR, **attending([1, 3]), options={"num_kv_heads": 2}),
    "attention, fewer heads of keys, rotary": Case(
        *MHA_OF_FOUR, **attending(steps=4, causal=True), options={"num_kv_heads": 1, "head_size": 2, "position": "rotary"}
    ),
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
    "attention, rotary": Case(*MHA_BIAS, **attending(steps=4, causal=True), options={"position": "rotary"}),
    "attention, rotary, interleaved, of a cache": Case(
        *MHA, **attending(steps=1, offset=3), options={"position": "rotary", "rotary_layout": "interleaved", "rotary_base": 5.0}
    ),
    "decoder block, rotary": Case("DecoderBlock", (*BLOCK, 0), decoding(), {"position": "rotary"}),
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


@pytest.mark.parametrize("few", [None, 2])
def test_one_array_in_several_places(few):
    """The joined projections give the sum of the gradients that separate inputs get."""
    rng = np.random.default_rng(5)
    layer = BACKEND.layer(*MHA_OF_FOUR[:1], *MHA_OF_FOUR[1], num_kv_heads=few)
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


def test_backward_needs_a_forward():
    layer = BACKEND.layer("PositionWiseFFN", D, F, D)
    with pytest.raises(RuntimeError, match="backward needs a forward before it"):
        layer.backward(np.zeros((B, T, D)))
