"""Layers and functions, their arguments and inputs, as data; see ``layer_inputs`` for the sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...backend import Backend
from ...config import CHOICES
from ...interface import FUNCTIONS
from .layer_inputs import MANY, B, D, F, H, S, T, V

BLOCK = (D, D, D, D, [D], D, F, H, 0.0)
STACK = (V, D, D, D, D, [D], D, F, H, 2, 0.0)


@dataclass(frozen=True)
class Case:
    """A layer made with ``arguments`` and ``options``, called with ``inputs`` and ``call`` options.

    ``layer`` is a name of ``interface.LAYERS`` or ``interface.FUNCTIONS``. Inputs are given as strings: see ``build_input``.
    ``training`` runs it in training mode; what it drops out, ``masks`` say: the shape of each by its path. ``ill_conditioned``
    inputs make any implementation lose digits: the limits of such a case grow with what the reference itself loses.
    ``every_dtype`` has one case of each kind of layer, with and without masks, compared in formats of two bytes too; a case of
    ``long_sums`` in these alone, with a cotangent that has no negative number, so that sums over rows only grow. In formats of
    two bytes an output of ``one_rounding`` is computed in more, and rounded at the end. Of a layer with a ``part`` that part
    is called.
    """

    name: str
    layer: str
    arguments: tuple[Any, ...]
    inputs: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    call: dict[str, Any] = field(default_factory=dict)
    training: bool = False
    masks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ill_conditioned: bool = False
    every_dtype: bool = False
    long_sums: bool = False
    one_rounding: bool = False
    part: str | None = None


# ReLU's slope jumps: in bfloat16 an input that rounding moves across zero changes a gradient by more than a mistake would, in
# torch's "preset annotated" one array by 0.38 of its norm, four times as much as in NumPy.
SMOOTH = ("gelu", "gelu_tanh", "silu")
WITH_ACTIVATION = ("PositionWiseFFN", "EncoderBlock", "DecoderBlock", "TransformerEncoder", "TransformerDecoder")


def attention(
    name: str,
    *inputs: str,
    layer: str = "DotProductAttention",
    arguments: tuple[Any, ...] = (0.0,),
    every_dtype: bool = False,
    **call: Any,
) -> Case:
    return Case(name, layer, arguments, inputs, call=call, every_dtype=every_dtype)


MHA: dict[str, Any] = {"layer": "MultiHeadAttention", "arguments": (D, D, D, D, H, 0.0)}
MHA_BIAS: dict[str, Any] = {"layer": "MultiHeadAttention", "arguments": (D, D, D, D, H, 0.0, True)}
STATE = ["source", "lens", [None]]
DROPPING = (*BLOCK[:-1], 0.3)
SUBLAYERS = {f"{path}.dropout": (B, T, D) for path in ("addnorm1", "addnorm2")}

CASES = [
    Case("layer norm", "LayerNorm", ([D],), ("X",), every_dtype=True),
    Case("layer norm, size as a number", "LayerNorm", (D,), ("X",)),
    Case("layer norm over two axes", "LayerNorm", ([T, D],), ("X",)),
    Case("layer norm without affine", "LayerNorm", ([D],), ("X",), {"affine": False}),
    Case("layer norm over two axes without affine", "LayerNorm", ([T, D],), ("X",), {"affine": False}),
    Case("layer norm, another epsilon", "LayerNorm", ([D],), ("X",), {"eps": 0.1}),
    Case("std norm", "LayerNorm", ([D],), ("X",), {"kind": "std_norm", "eps": 1e-6}, every_dtype=True),
    Case("std norm over two axes", "LayerNorm", ([T, D],), ("X",), {"kind": "std_norm"}),
    Case("std norm of rows that hardly vary", "LayerNorm", ([D],), ("hardly varying",), {"kind": "std_norm", "eps": 1e-3}),
    Case("rms norm", "LayerNorm", ([D],), ("X",), {"kind": "rms_norm"}, every_dtype=True),
    Case("rms norm over two axes, another epsilon", "LayerNorm", ([T, D],), ("X",), {"kind": "rms_norm", "eps": 0.1}),
    Case("rms norm without affine", "LayerNorm", ([D],), ("X",), {"kind": "rms_norm", "affine": False}),
    *(Case(f"{kind.replace('_', ' ')} of numbers far from zero, without affine", "LayerNorm", ([D],), ("far from zero",),
           {"kind": kind, "affine": False}, every_dtype=True, one_rounding=True) for kind in ("layer_norm", "std_norm")),
    Case("add and norm, post", "AddNorm", ([D], 0.0), ("X", "Y"), every_dtype=True),
    Case("add and norm, pre", "AddNorm", ([D], 0.0), ("X", "Y"), {"norm_position": "pre"}, every_dtype=True),
    Case("add and norm, two axes", "AddNorm", ([T, D], 0.0), ("X", "Y"), {"norm_eps": 1e-3}),
    Case("ffn relu", "PositionWiseFFN", (D, F, 7), ("X",), every_dtype=True),
    Case("ffn gelu", "PositionWiseFFN", (D, F, 7), ("X",), {"activation": "gelu"}, every_dtype=True),
    Case("ffn gelu tanh", "PositionWiseFFN", (D, F, 7), ("X",), {"activation": "gelu_tanh"}),
    Case("ffn silu", "PositionWiseFFN", (D, F, 7), ("X",), {"activation": "silu"}, every_dtype=True),
    *(Case(f"ffn {name.replace('_', ' ')} of far numbers", "PositionWiseFFN", (D, F, 7), ("far",), {"activation": name})
      for name in SMOOTH),
    Case("ffn without bias", "PositionWiseFFN", (D, F, 7), ("X",), {"use_bias": False}),
    Case("ffn without bias, 4,096 rows of 32", "PositionWiseFFN", (D, 32, 7), ("many",),
         {"activation": "silu", "use_bias": False}),
    Case("ffn gated by gelu tanh, without bias", "PositionWiseFFN", (D, F, 7), ("X",),
         {"activation": "gelu_tanh", "use_bias": False, "gated": True}, every_dtype=True),
    Case("ffn gated by silu", "PositionWiseFFN", (D, F, 7), ("X",), {"activation": "silu", "gated": True}),
    attention("dot product", "Q", "K", "V", every_dtype=True),
    attention("dot product, heads", "Q heads", "K heads", "V heads"),
    attention("dot product, lens", "Q", "K", "V", "lens"),
    attention("dot product, heads and lens 2-D with an empty row", "Q heads", "K heads", "V heads", "lens 2-D"),
    attention("dot product, mask", "Q heads", "K heads", "V heads", mask="mask per head"),
    attention("dot product, causal", "K", "K", "V", causal=True),
    attention("dot product, weights asked for", "Q", "K", "V", "lens with 0", need_weights=True),
    Case("dot product, dropout, weights asked for", "DotProductAttention", (0.3,), ("Q", "K", "V", "lens with 0"),
         call={"need_weights": True}, training=True, masks={"dropout": (B, T, S)}, every_dtype=True),
    Case("dot product, dropout, queries of unlike sizes", "DotProductAttention", (0.3,),
         ("queries of unlike sizes", "K", "V", "lens with 0"), training=True, masks={"dropout": (B, T, S)}),
    attention("self-attention", "X", "X", "X", **MHA),
    Case("self-attention, dropout", "MultiHeadAttention", (D, D, D, D, H, 0.3), ("X", "X", "X", "lens T"), training=True,
         masks={"attention.dropout": (B, H, T, T)}),
    attention("self-attention, bias", "X", "X", "X", every_dtype=True, **MHA_BIAS),
    attention("self-attention, causal", "X", "X", "X", causal=True, **MHA_BIAS),
    attention("self-attention, causal and lens", "X", "X", "X", "lens T", causal=True, every_dtype=True, **MHA),
    attention("cross-attention", "X", "source", "source", **MHA),
    attention("cross-attention, lens", "X", "source", "source", "lens", **MHA),
    attention("cross-attention, lens with an empty row", "X", "source", "source", "lens with 0", **MHA_BIAS),
    attention("cross-attention, lens 2-D with an empty row", "X", "source", "source", "lens 2-D", every_dtype=True, **MHA),
    attention("cross-attention, mask", "X", "source", "source", mask="mask", **MHA),
    attention("cross-attention, mask per head", "X", "source", "source", mask="mask per head", **MHA),
    attention("cross-attention, mask with an empty query", "X", "source", "source", mask="mask over queries", **MHA),
    attention("cross-attention, causal, fewer queries than keys", "X", "source", "source", causal=True, **MHA),
    attention("cross-attention, causal, fewer keys than queries", "source", "X", "X", causal=True, **MHA),
    attention("cross-attention, all masks", "X", "source", "source", "lens 2-D", mask="mask per head", causal=True,
         every_dtype=True, **MHA),
    attention("cross-attention, one token", "one token", "source", "source", "lens", causal=True, **MHA),
    attention("cross-attention, one key", "X", "one token", "one token", **MHA),
    attention("cross-attention, weights asked for", "X", "source", "source", "lens 2-D", need_weights=True, **MHA),
    Case("attention of three sizes", "MultiHeadAttention", (6, D, 10, D, H, 0.0, True),
         ("X", "narrow source", "wide source", "lens")),
    Case("self-attention, heads of three numbers, not scaled, causal", "MultiHeadAttention", (D, D, D, D, H, 0.0),
         ("X", "X", "X", "lens T"), {"head_size": 3, "attention_scale": False}, {"causal": True}, every_dtype=True),
    Case("cross-attention, heads of nine numbers, bias", "MultiHeadAttention", (D, D, D, D, H, 0.0, True),
         ("X", "source", "source", "lens"), {"head_size": 9}),
    Case("self-attention, fewer heads of keys, causal", "MultiHeadAttention", (D, D, D, D, 4, 0.0),
         ("X", "X", "X", "lens T"), {"num_kv_heads": 2}, {"causal": True}, every_dtype=True),
    Case("cross-attention, one head of keys, bias", "MultiHeadAttention", (D, D, D, D, 4, 0.0, True),
         ("X", "source", "source", "lens 2-D"), {"num_kv_heads": 1}),
    Case("dot product, fewer heads of keys", "DotProductAttention", (0.0,), ("queries of four heads", *2 * ("of two heads",))),
    Case("dot product, not scaled", "DotProductAttention", (0.0,), ("Q", "K", "V", "lens"), {"scaled": False}),
    Case("self-attention, rotary, causal", "MultiHeadAttention", (D, D, D, D, H, 0.0, True), ("X", "X", "X"),
         {"position": "rotary"}, {"causal": True}, every_dtype=True),
    Case("self-attention, rotary, interleaved, another base", "MultiHeadAttention", (D, D, D, D, H, 0.0),
         ("X", "X", "X", "lens T"), {"position": "rotary", "rotary_layout": "interleaved", "rotary_base": 10.0}),
    Case("self-attention, rotary, queries that come later than their keys", "MultiHeadAttention", (D, D, D, D, H, 0.0),
         ("X", "X", "X"), {"position": "rotary"}, {"offset": 3}),
    Case("attention, rotary, one token after others", "MultiHeadAttention", (D, D, D, D, H, 0.0),
         ("one token", "source", "source"), {"position": "rotary", "max_len": 5}, {"offset": 4}),
    Case("positions", "PositionalEncoding", (D, 0.0), ("X",), every_dtype=True),
    Case("positions from 3, halves", "PositionalEncoding", (D, 0.0, 20), ("X", 3), {"layout": "halves"}),
    *(Case(f"positions of the default length, {layout}", "PositionalEncoding", (D, 0.0), ("1,000 steps",), {"layout": layout})
      for layout in CHOICES["sinusoid_layout"]),
    *(Case(f"attention, rotary, {layout}, last place of the default length", "MultiHeadAttention", (D, D, D, D, H, 0.0),
           ("one token", "1,000 steps", "1,000 steps"), {"position": "rotary", "rotary_layout": layout}, {"offset": 999})
      for layout in CHOICES["rotary_layout"]),
    *(Case(f"heads turned from the first position, {layout}", "MultiHeadAttention", (D, D, D, D, H, 0.0), ("heads to turn",),
           {"position": "rotary", "rotary_layout": layout}, every_dtype=True, one_rounding=True, part="rotary")
      for layout in CHOICES["rotary_layout"]),
    Case("encoder block", "EncoderBlock", BLOCK, ("X",)),
    Case("encoder block, lens", "EncoderBlock", BLOCK, ("X", "lens T"), training=True, every_dtype=True),
    Case("encoder block, lens 2-D", "EncoderBlock", BLOCK, ("X", "lens 2-D T")),
    Case("encoder block, pre-norm, bias, gelu", "EncoderBlock", (*BLOCK, True), ("X", "lens T"),
         {"norm_position": "pre", "activation": "gelu"}, every_dtype=True),
    Case("encoder block, lens and mask", "EncoderBlock", BLOCK, ("X", "lens T"), call={"mask": "mask between steps"}),
    Case("encoder block, dropout", "EncoderBlock", DROPPING, ("X", "lens T"), {"activation": "gelu"}, training=True,
         masks={**SUBLAYERS, "attention.attention.dropout": (B, H, T, T)}, every_dtype=True),
    Case("encoder block over two axes", "EncoderBlock", (D, D, D, D, [T, D], D, F, H, 0.0), ("X", "lens T")),
    Case("encoder block, std norm, no affine", "EncoderBlock", BLOCK, ("X", "lens T"),
         {"norm_kind": "std_norm", "norm_affine": False}),
    Case("encoder block, rms norm, pre-norm", "EncoderBlock", BLOCK, ("X", "lens T"),
         {"norm_kind": "rms_norm", "norm_position": "pre"}),
    Case("encoder block, gated by silu", "EncoderBlock", DROPPING, ("X", "lens T"),
         {"activation": "silu", "ffn_gated": True}, training=True,
         masks={**SUBLAYERS, "attention.attention.dropout": (B, H, T, T)}),
    Case("decoder block", "DecoderBlock", (*BLOCK, 0), ("X", STATE), every_dtype=True),
    Case("decoder block in training", "DecoderBlock", (*BLOCK, 0, True), ("X", STATE), training=True),
    Case("decoder block, pre-norm, silu", "DecoderBlock", (*BLOCK, 0, True), ("X", STATE),
         {"norm_position": "pre", "activation": "silu"}, every_dtype=True),
    Case("decoder block, lens 2-D", "DecoderBlock", (*BLOCK, 0), ("X", ["source", "lens 2-D", [None]])),
    Case("decoder block given no encoder output", "DecoderBlock", (*BLOCK, 0), ("X", [None, None, [None]])),
    Case("decoder block without cross-attention", "DecoderBlock", (*BLOCK, 0), ("X", [None, None, [None]]),
         {"cross_attention": False}),
    Case("decoder block, rotary", "DecoderBlock", (*BLOCK, 0), ("X", STATE), {"position": "rotary", "norm_position": "pre"}),
    Case("decoder block, one token", "DecoderBlock", (*BLOCK, 0), ("one token", STATE)),
    Case("encoder", "TransformerEncoder", STACK, ("source ids", "lens"), every_dtype=True),
    Case("encoder, lens 2-D", "TransformerEncoder", STACK, ("target ids", "lens 2-D T")),
    Case("encoder, pre-norm, final norm", "TransformerEncoder", STACK, ("source ids", "lens"),
         {"norm_position": "pre", "final_norm": True}),
    Case("encoder, learned positions from 2", "TransformerEncoder", STACK, ("source ids", "lens"),
         {"position": "learned", "max_len": 9, "position_offset": 2}),
    Case(
        "encoder, types and embedding norm",
        "TransformerEncoder",
        STACK,
        ("source ids", "lens"),
        {"token_types": 2, "embedding_norm": True, "embedding_scale": False, "activation": "gelu", "norm_eps": 1e-12},
        {"token_types": "types"},
    ),
    Case("encoder, learned positions from 2 of the default length", "TransformerEncoder", (V, D, D, D, D, [D], D, F, 1, 1, 0.0),
         ("1,000 ids", "1,000 lens"), {"position": "learned", "position_offset": 2}),
    Case("encoder, relative positions", "TransformerEncoder", STACK, ("source ids", "lens"),
         {"position": "relative", "relative_buckets": 4, "relative_max_distance": 3, "norm_position": "pre"}, every_dtype=True),
    Case("decoder, relative positions", "TransformerDecoder", STACK, ("target ids", ["source", "lens", [None, None]]),
         {"position": "relative", "relative_buckets": 4, "relative_max_distance": 3}),
    Case("decoder", "TransformerDecoder", STACK, ("target ids", ["source", "lens", [None, None]]), every_dtype=True),
    Case("decoder, halves, padding", "TransformerDecoder", STACK, ("target ids", ["source", "lens", [None, None]]),
         {"sinusoid_layout": "halves", "padding_id": 1}),
    Case("decoder alone, rotary, interleaved", "TransformerDecoder", STACK, ("target ids", [None, None, [None, None]]),
         {"cross_attention": False, "position": "rotary", "rotary_layout": "interleaved", "norm_kind": "rms_norm"}),
    Case("decoder alone, tokens normed before positions", "TransformerDecoder", STACK,
         ("target ids", [None, None, [None, None]]), {"embedding_norm": True, "decoder_embedding_norm": "tokens"}),
    Case("encoder, rotary", "TransformerEncoder", STACK, ("source ids", "lens"), {"position": "rotary", "max_len": 5}),
    Case("decoder alone", "TransformerDecoder", STACK, ("target ids", [None, None, [None, None]]),
         {"cross_attention": False, "output_bias": False}),
    Case("layer norm, small variance", "LayerNorm", ([D],), ("small variance",), ill_conditioned=True),
    Case("std norm, small variance", "LayerNorm", ([D],), ("small variance",), {"kind": "std_norm"}, ill_conditioned=True),
    Case("std norm as wide as it is deep", "AddNorm", ([D], 0.0), ("X", "Y"),
         {"norm_kind": "std_norm", "norm_position": "pre"}),
    attention("self-attention, 512 steps", "long", "long", "long", "long lens", causal=True, every_dtype=True, **MHA),
    Case("encoder block, 512 steps", "EncoderBlock", BLOCK, ("long", "long lens")),
    Case("layer norm, 4,096 rows", "LayerNorm", ([D],), ("many",), long_sums=True),
    Case("rms norm, 4,096 rows", "LayerNorm", ([D],), ("many",), {"kind": "rms_norm"}, long_sums=True),
    Case("ffn silu, 4,096 rows", "PositionWiseFFN", (D, F, 7), ("many",), {"activation": "silu"}, long_sums=True),
    Case(
        "encoder, 4,096 tokens, half of them one",
        "TransformerEncoder",
        (V, D, D, D, D, [D], D, F, H, 1, 0.0),
        ("many ids", "many lens"),
        {"activation": "gelu", "position": "learned", "max_len": MANY, "token_types": 2, "norm_position": "pre"},
        long_sums=True,
    ),
    Case("encoder block, silu, biases", "EncoderBlock", (*BLOCK, True), ("X", "lens T"), {"activation": "silu"}),
    Case("decoder block, gelu, std norm", "DecoderBlock", (*BLOCK, 0, True), ("X", STATE),
         {"activation": "gelu", "norm_kind": "std_norm", "norm_position": "pre"}),
    Case("sequence mask", "sequence_mask", (), ("source", "lens with 0")),
    Case("sequence mask, another value", "sequence_mask", (), ("source", "lens"), call={"value": -1.5}),
    Case("sequence mask, four axes", "sequence_mask", (), ("four axes", "lens with 0"), call={"value": 0.1}),
    Case("masked softmax", "masked_softmax", (), ("scores", "lens")),
    Case("masked softmax, lens of one byte", "masked_softmax", (), ("300 scores", "lens of one byte")),
    Case("masked softmax, lens 2-D with an empty row", "masked_softmax", (), ("scores", "lens 2-D")),
    Case("masked softmax, heads, lens and mask", "masked_softmax", (), ("scores heads", "lens with 0"),
         call={"mask": "mask per head"}, every_dtype=True),
    Case("split into heads", "transpose_qkv", (), ("X", H)),
    Case("join heads", "transpose_output", (), ("Q heads", H)),
    Case("join heads that are folded into the rows", "transpose_output", (), ("X", B)),
    Case("loss", "MaskedSoftmaxCELoss", (), ("logits", "labels", "label lens"), every_dtype=True),
    Case("loss of improbable labels", "MaskedSoftmaxCELoss", (), ("far logits", "labels", "label lens")),
    Case("loss per token", "MaskedSoftmaxCELoss", (), ("logits", "labels", "label lens"), {"normalization": "tokens"}),
    Case("loss per token, no tokens", "MaskedSoftmaxCELoss", (), ("logits", "labels", "no lens"), {"normalization": "tokens"}),
    Case("loss per token, lens of one byte", "MaskedSoftmaxCELoss", (),
         ("300 steps of logits", "300 labels", "lens of one byte"), {"normalization": "tokens"}),
    Case("loss with smoothing", "MaskedSoftmaxCELoss", (), ("logits", "labels", "lens T"), {"label_smoothing": 0.1},
         every_dtype=True),
]  # fmt: skip


def build_layer(case: Case, backend: Backend) -> Any:
    """Make the case's layer or function in a backend."""
    if case.layer in FUNCTIONS:
        return getattr(backend, case.layer)
    return backend.layer(case.layer, *case.arguments, **case.options)
