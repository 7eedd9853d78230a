"""Bad input: one sentence that names what was expected and what was got, the same in every backend."""

import re

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.config import CHOICES
from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.errors import BackendError, ConfigError, DeviceError, DtypeError, ShapeError, TokenError, WeightsError
from transformer_mb.ownership import built_in_of
from transformer_mb.parity.rows.model_cases import BATCH, DECODER, ENCODER
from transformer_mb.registry import load_backend_class

SOURCE, LENS, TARGET = BATCH["source"], BATCH["source_valid_lens"], BATCH["target_in"]


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(ONE_LAYER, seed=0)


def changed(array, value):
    array = array.copy()
    array[0, 1] = value
    return array


CALLS = {
    "source id too large": (TokenError, (changed(SOURCE, 11), TARGET, LENS), "source must hold token ids from 0 to 10, got 11"),
    "source id negative": (TokenError, (changed(SOURCE, -1), TARGET, LENS), "from 0 to 10, got -1"),
    "target id too large": (TokenError, (SOURCE, changed(TARGET, 99), LENS), "target must hold token ids from 0 to 12, got 99"),
    "source too long": (TokenError, (np.ones((3, 21), int), TARGET, None), "at most max_len = 20 tokens long, got 21"),
    "target too long": (TokenError, (SOURCE, np.ones((3, 21), int), LENS), "at most max_len = 20 tokens long, got 21"),
    "source not 2-D": (ShapeError, (SOURCE[0], TARGET, None), r"source must have shape \[B, steps\].*got \[5\]"),
    "empty source": (ShapeError, (SOURCE[:, :0], TARGET, None), r"at least one token, got \[3, 0\]"),
    "source of floats": (TokenError, (SOURCE.astype(float), TARGET, LENS), "whole numbers, got dtype float64"),
    "length beyond the source": (TokenError, (SOURCE, TARGET, np.array([6, 2, 1])), r"lengths from 0 to 5, got \[6, 2, 1\]"),
    "lengths of another batch": (ShapeError, (SOURCE, TARGET, np.array([1, 2])), r"source_valid_lens must have shape \[3\], got \[2\]"),
    "target of another batch": (ShapeError, (SOURCE, TARGET[:2], LENS), "target must have batch size 3 as the source has, got 2"),
}  # fmt: skip


class OfAnother:
    """What is read of a model before its framework's tensors meet another's."""

    config = ONE_LAYER


WITH_A_MODEL = {
    "encode": (SOURCE, LENS),
    **dict.fromkeys(("logits", "attention"), (SOURCE, TARGET, LENS)),
    **dict.fromkeys(("losses", "loss_and_gradients"), (THE_BATCH,)),
    **dict.fromkeys(("greedy", "sample", "beam", "hypotheses"), (SOURCE, LENS)),
    **dict.fromkeys(("trainer", "get_weights", "parameter_shapes"), ()),
    "set_weights": ({},),
    "apply": (SOURCE, TARGET),
}


@pytest.mark.parametrize("call", WITH_A_MODEL)
def test_a_model_of_another_backend_is_refused(call, backend, backend_name):
    own = built_in_of(type(backend)) or {backend_name}
    other = next(name for name in BUILT_IN if name not in own)
    kind = type("EncoderDecoder", (OfAnother,), {"__module__": f"transformer_mb.backends.{other}.model"})
    with pytest.raises(BackendError) as raised:
        getattr(backend, call)(kind(), *WITH_A_MODEL[call])
    assert str(raised.value) == f"The model must be of backend {backend_name}, got one of backend {other}."


@pytest.mark.parametrize("name", CALLS)
def test_logits_refuses(name, backend, model):
    kind, arguments, message = CALLS[name]
    with pytest.raises(kind, match=message):
        backend.logits(model, *arguments)


LAYERS = {
    "width of queries": ("MultiHeadAttention", (8, 8, 8, 8, 2, 0.0), [(2, 3, 7), (2, 3, 8), (2, 3, 8)], r"queries must have shape \[B, T, 8\], got \[2, 3, 7\]"),
    "width of values": ("MultiHeadAttention", (8, 8, 8, 8, 2, 0.0), [(2, 3, 8), (2, 3, 8), (2, 3, 9)], r"values must have shape \[B, T, 8\], got \[2, 3, 9\]"),
    "rank of queries": ("MultiHeadAttention", (8, 8, 8, 8, 2, 0.0), [(3, 8), (2, 3, 8), (2, 3, 8)], r"queries must have shape \[B, T, 8\], got \[3, 8\]"),
    "batch of keys": ("DotProductAttention", (0.0,), [(2, 3, 4), (3, 3, 4), (3, 3, 4)], "must share the batch"),
    "steps of values": ("DotProductAttention", (0.0,), [(2, 3, 4), (2, 3, 4), (2, 5, 4)], "and keys and values their steps"),
    "heads of keys": ("DotProductAttention", (0.0,), [(2, 4, 3, 8), (2, 3, 3, 8), (2, 3, 3, 8)], "must divide those of queries"),
    "residual": ("AddNorm", ([4], 0.0), [(2, 3, 4), (2, 1, 4)], r"X and Y must have the same shape, got \[2, 3, 4\] and \[2, 1, 4\]"),
    "norm shape": ("LayerNorm", ([3, 4],), [(2, 4, 4)], r"must end in the sizes \[3, 4\], got \[2, 4, 4\]"),
    "ffn width": ("PositionWiseFFN", (4, 5, 6), [(2, 3, 5)], r"must have shape \[B, T, 4\], got \[2, 3, 5\]"),
    "positions": ("PositionalEncoding", (4, 0.0, 5), [(2, 6, 4)], "at most max_len = 5 tokens long, got 6"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_refuses(name, backend):
    layer_name, arguments, shapes, message = LAYERS[name]
    layer = backend.layer(layer_name, *arguments)
    with pytest.raises((ShapeError, TokenError), match=message):
        backend.apply(layer, *(np.ones(shape) for shape in shapes))


def test_valid_lens_of_another_shape(backend):
    layer = backend.layer("MultiHeadAttention", 8, 8, 8, 8, 2, 0.0)
    X = np.ones((2, 3, 8))
    with pytest.raises(ShapeError, match=r"valid_lens must have shape \[2\] or \[2, 3\], got \[2, 4\]"):
        backend.apply(layer, X, X, X, np.ones((2, 4), int))


def test_heads_must_divide(backend):
    with pytest.raises(ConfigError, match="num_hiddens must be divisible by num_heads, but 9 is not divisible by 2"):
        backend.layer("MultiHeadAttention", 9, 9, 9, 9, 2, 0.0)


def test_odd_width_has_no_sinusoids(backend):
    with pytest.raises(ConfigError, match="num_hiddens must be even for sinusoidal positions, got 5"):
        backend.layer("PositionalEncoding", 5, 0.0)


def test_odd_width_cannot_be_turned_in_pairs(backend):
    with pytest.raises(ConfigError, match="The width of a head must be even for rotary positions, got 5"):
        backend.layer("MultiHeadAttention", 10, 10, 10, 10, 2, 0.0, position="rotary")


def test_weights_that_do_not_fit_are_all_listed(backend, model):
    weights = backend.get_weights(model)
    del weights["encoder.blks.block0.attention.W_q.weight"]
    weights["encoder.surprise"] = np.ones(2)
    weights["decoder.dense.bias"] = np.ones(5)
    with pytest.raises(WeightsError) as caught:
        backend.set_weights(model, weights)
    message = str(caught.value)
    assert "missing encoder.blks.block0.attention.W_q.weight [8, 8]" in message
    assert "unexpected encoder.surprise [2]" in message
    assert "decoder.dense.bias must have shape [13], got [5]" in message


def test_unknown_dtype(backend_name):
    with pytest.raises(DtypeError, match="must be one of float32, float64.*got 'int8'"):
        load_backend_class(backend_name)(dtype="int8")


def test_unknown_device(backend_name):
    with pytest.raises(DeviceError, match="must be one of cpu.*got 'tpu:9'"):
        load_backend_class(backend_name)(device="tpu:9")


@pytest.mark.parametrize("device", ["cuda", "gpu", "cuda:7", "gpu:7", "nonsense"])
def test_a_device_that_is_not_there_is_refused_with_the_reason(backend_name, device):
    """Here as anywhere: what is installed knows no GPU, or finds none, or has others."""
    found = load_backend_class(backend_name)
    others = "must be one of" if len(found.devices()) > 1 else "processors alone|is built for GPUs, but finds none"
    if device not in ("cuda", "gpu") or len(found.devices()) == 1:
        with pytest.raises(DeviceError, match=rf"got '{device}'.*`transformer-mb backends` lists") as caught:
            found(device=device)
        assert re.search(others, str(caught.value))


@pytest.mark.parametrize("max_steps", [0, 21])
def test_decoding_beyond_the_positions(max_steps, backend, model):
    with pytest.raises(TokenError, match=f"max_steps must be from 1 to max_len = 20, got {max_steps}"):
        backend.greedy(model, SOURCE, LENS, max_steps)


def test_an_encoder_does_not_decode(backend):
    with pytest.raises(ConfigError, match="greedy needs a model with decoder, but the architecture is encoder"):
        backend.greedy(backend.build(ENCODER, seed=0), SOURCE, LENS, 3)


def test_a_decoder_does_not_encode(backend):
    model = backend.build(DECODER, seed=0)
    with pytest.raises(ConfigError, match="encode needs a model with encoder, but the architecture is decoder"):
        backend.encode(model, SOURCE, LENS)
    with pytest.raises(ConfigError, match="takes no source"):
        backend.logits(model, SOURCE, TARGET, LENS)


def test_token_types_out_of_range(backend):
    with pytest.raises(TokenError, match="token_types must hold token ids from 0 to 1, got 2"):
        backend.encode(backend.build(ENCODER, seed=0), SOURCE, LENS, np.full(SOURCE.shape, 2))


def test_an_encoder_is_not_trained_to_translate(backend):
    with pytest.raises(ConfigError, match="trainer needs a model with decoder, but the architecture is encoder"):
        backend.trainer(backend.build(ENCODER, seed=0))


BLOCK = (8, 8, 8, 8, [8], 8, 16, 2, 0.0)
# (layer, arguments, what the layer calls the option, the option as the configuration calls it)
CHOSEN = [
    ("LayerNorm", (8,), "kind", "norm_kind"),
    ("AddNorm", (8, 0.0), "norm_kind", "norm_kind"),
    ("AddNorm", (8, 0.0), "norm_position", "norm_position"),
    ("PositionWiseFFN", (8, 16, 8), "activation", "activation"),
    ("PositionalEncoding", (8, 0.0), "layout", "sinusoid_layout"),
    ("MaskedSoftmaxCELoss", (), "normalization", "normalization"),
    *(("EncoderBlock", BLOCK, option, option) for option in ("norm_kind", "norm_position", "activation")),
    *(("DecoderBlock", (*BLOCK, 0), option, option) for option in ("norm_kind", "activation", "compat_decode")),
    *(("TransformerEncoder", (9, *BLOCK[:-1], 1, 0.0), option, option) for option in ("position", "sinusoid_layout")),
    ("MultiHeadAttention", (8, 8, 8, 8, 2, 0.0), "rotary_layout", "rotary_layout"),
    *(("TransformerDecoder", (9, *BLOCK[:-1], 1, 0.0), option, option) for option in ("norm_position", "compat_decode")),
    ("TransformerDecoder", (9, *BLOCK[:-1], 1, 0.0), "decoder_embedding_norm", "decoder_embedding_norm"),
]


@pytest.mark.parametrize(("layer", "arguments", "option", "named"), CHOSEN, ids=lambda value: str(value) if value else "none")
def test_an_unknown_choice_is_refused(layer, arguments, option, named, backend):
    with pytest.raises(ConfigError) as raised:
        backend.layer(layer, *arguments, **{option: "nonesuch"})
    assert str(raised.value) == f"{named} must be one of {', '.join(CHOICES[named])}, got 'nonesuch'."


@pytest.mark.parametrize(("layer", "arguments"), [("EncoderBlock", BLOCK), ("DecoderBlock", (*BLOCK, 0))])
def test_an_unknown_option_is_refused(layer, arguments, backend):
    with pytest.raises(ConfigError, match=r"Unknown option\(s\): norm_kid\. The options are: .*norm_kind"):
        backend.layer(layer, *arguments, norm_kid="rms_norm")
