"""Layers check what they are made of in the words of TransformerConfig; and a backend's classes have its dtype."""

import json
import sys

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.conformance.test_bad_calls import ATTENTION, BLOCK, CONFIG, STACK
from transformer_mb.errors import ConfigError, DtypeError
from transformer_mb.registry import get_backend
from transformer_mb.training import train

DROPOUT = "dropout must be at least 0 and below 1, got"
NUMBERS = [
    ("AddNorm", (8, 2.0), {}, f"{DROPOUT} 2.0."),
    ("PositionalEncoding", (8, 1.0), {}, f"{DROPOUT} 1.0."),
    ("DotProductAttention", (-0.1,), {}, f"{DROPOUT} -0.1."),
    ("DotProductAttention", ("half",), {}, f"{DROPOUT} 'half'."),
    ("MultiHeadAttention", (*ATTENTION[:-1], 2.0), {}, f"{DROPOUT} 2.0."),
    ("PositionWiseFFN", (8, 16, 8), {"dropout": 1.5}, f"{DROPOUT} 1.5."),
    ("EncoderBlock", (*BLOCK[:-1], float("nan")), {}, f"{DROPOUT} nan."),
    ("EncoderBlock", BLOCK, {"attention_dropout": 2.0}, "attention_dropout must be at least 0 and below 1, got 2.0."),
    ("DecoderBlock", (*BLOCK, 0), {"ffn_dropout": 2.0}, "ffn_dropout must be at least 0 and below 1, got 2.0."),
    ("MaskedSoftmaxCELoss", (), {"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, got 1.0."),
    ("LayerNorm", (0,), {}, "norm_shape must be at least 1, got 0."),
    ("LayerNorm", ([3, -8],), {}, "norm_shape must be at least 1, got -8."),
    ("LayerNorm", ([],), {}, "norm_shape must hold at least one size, got none."),
    ("LayerNorm", (8.0,), {}, "norm_shape must be a whole number, got 8.0."),
    ("LayerNorm", (8,), {"eps": -1e-5}, "norm_eps must be positive and below 1, got -1e-05."),
    (
        "LayerNorm",
        (1,),
        {"kind": "std_norm"},
        "std_norm needs norm_shape of at least 2 numbers: one has no unbiased deviation.",
    ),
    ("MultiHeadAttention", (8, 8, 8, 8, 0, 0.0), {}, "num_heads must be at least 1, got 0."),
    ("MultiHeadAttention", (8, 8, -8, 8, 2, 0.0), {}, "value_size must be at least 1, got -8."),
    ("PositionWiseFFN", (8, 0, 8), {}, "ffn_num_hiddens must be at least 1, got 0."),
    ("PositionalEncoding", (8, 0.0, 0), {}, "max_len must be at least 1, got 0."),
    ("PositionalEncoding", (8, 0.0, 10**9), {}, "max_len must be at most 65536 for sinusoidal positions, got 1000000000."),
    ("DecoderBlock", (*BLOCK, -1), {}, "i must not be negative, got -1."),
    ("TransformerEncoder", (0, *STACK[1:]), {}, "vocab_size must be at least 1, got 0."),
    ("TransformerEncoder", (*STACK[:-2], 0, 0.0), {}, "num_layers must be at least 1, got 0."),
    ("TransformerEncoder", STACK, {"token_types": -1}, "token_types must not be negative, got -1."),
    ("TransformerDecoder", STACK, {"position_offset": -1}, "position_offset must not be negative, got -1."),
    ("TransformerDecoder", STACK, {"padding_id": 9}, "padding_id must be from 0 to 8, got 9."),
    ("TransformerDecoder", STACK, {"norm_eps": 2.0}, "norm_eps must be positive and below 1, got 2.0."),
]


@pytest.mark.parametrize(("layer", "arguments", "options", "sentence"), NUMBERS, ids=lambda value: str(value)[:30])
def test_a_wrong_number_is_refused(layer, arguments, options, sentence, backend):
    with pytest.raises(ConfigError) as raised:
        backend.layer(layer, *arguments, **options)
    assert str(raised.value) == sentence


LAYERS = {
    "LayerNorm": (8,),
    "AddNorm": (8, 0.0),
    "PositionWiseFFN": (8, 16, 8),
    "MultiHeadAttention": ATTENTION,
    "EncoderBlock": BLOCK,
    "DecoderBlock": (*BLOCK, 0),
    "TransformerEncoder": STACK,
    "TransformerDecoder": STACK,
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_class_of_a_backend_has_its_dtype(name, backend, backend32):
    for own, dtype in ((backend, "float64"), (backend32, "float32")):
        layer = getattr(own, name)(*LAYERS[name])
        by_name = own.layer(name, *LAYERS[name])
        assert {str(weight.dtype) for weight in own.get_weights(layer).values()} == {dtype}
        assert type(layer) is type(by_name) is getattr(type(own), name)


def numpy_numbers(value):
    """Whole numbers as NumPy's, as a file of settings or a shape gives them."""
    return [numpy_numbers(item) for item in value] if isinstance(value, list) else np.asarray(value)[()]


@pytest.mark.parametrize("name", [*LAYERS, "PositionalEncoding"])
def test_sizes_may_be_numbers_of_numpy(name, backend):
    arguments = LAYERS.get(name, (8, 0.0, 10))
    layer = backend.layer(name, *map(numpy_numbers, arguments))
    assert backend.parameter_shapes(layer) == backend.parameter_shapes(backend.layer(name, *arguments))
    if name in ("PositionWiseFFN", "MultiHeadAttention"):
        X = np.ones((2, 3, 8))
        assert backend.apply(layer, *[X] * (1 if name == "PositionWiseFFN" else 3)).shape == (2, 3, 8)


def test_a_model_of_a_backends_class_has_its_dtype(backend):
    model = backend.EncoderDecoder.from_config(CONFIG)
    assert {str(weight.dtype) for weight in backend.get_weights(model).values()} == {"float64"}
    assert backend.logits(model, [[1, 2]], [[1]]).dtype == np.float64


def test_a_backend_takes_its_frameworks_own_dtypes_and_devices(backend, backend_name):
    framework = sys.modules[BUILT_IN[backend_name].requires[0]] if backend_name in BUILT_IN else np
    for name in ("float32", "float64"):
        own = getattr(framework, name, None) or getattr(getattr(framework, "numpy", None) or framework.np, name)
        for given in (own, getattr(np, name), np.dtype(name)):
            found = get_backend(backend_name, device=backend.device, dtype=given)
            assert (found.dtype, found.device, found.device_name) == (name, backend.device, backend.device_name)
    with pytest.raises(DtypeError, match=f"The dtype of backend {backend_name} must be one of float32, float64"):
        get_backend(backend_name, dtype=np.int32)


def test_a_training_says_its_dtype_and_device_in_names(backend, backend_name, tmp_path):
    run = {"backend": backend_name, "device": backend.device, "dtype": np.float32, "num_hiddens": 8, "ffn_num_hiddens": 8}
    train([("a", "b")], tmp_path / "model", epochs=1, **run)
    recorded = json.loads((tmp_path / "model" / "trainer.json").read_text())["data"]["run"]
    assert recorded["dtype"] == "float32" and recorded["device"] in type(backend).devices()


def test_a_class_of_a_backend_stands_for_the_frameworks_in_isinstance_and_in_derived_classes(backend):
    class Own(backend.LayerNorm):
        """Derives from the framework's class, and is made as the framework makes it."""

    assert issubclass(Own, backend.LayerNorm) and Own.__mro__[1] is type(backend).LayerNorm
    layer = type(backend).LayerNorm(8)
    assert isinstance(layer, backend.LayerNorm) and isinstance(Own(8), backend.LayerNorm)
    assert not isinstance(layer, backend.AddNorm) and not issubclass(Own, backend.AddNorm)
    assert backend.LayerNorm.__doc__ == type(backend).LayerNorm.__doc__ and backend.LayerNorm.__name__ == "LayerNorm"
    assert "of a backend" in repr(backend.LayerNorm)
