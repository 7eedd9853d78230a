"""What a layer shows of itself where people of its framework look: in its repr, or in Keras in its get_config too."""

import re

import pytest

# Sizes that nothing else has.
SHOWN = {
    "LayerNorm": ((22,), ["22", "1e-05", "layer_norm"]),
    "MultiHeadAttention": ((22, 22, 22, 22, 11, 0.375), ["22", "11", "0.375"]),
    "PositionWiseFFN": ((22, 33, 44), ["22", "33", "44"]),
    "PositionalEncoding": ((22, 0.375, 33), ["22", "33", "0.375"]),
    "EncoderBlock": ((22, 22, 22, 22, [22], 22, 33, 11, 0.375), ["22", "33", "11", "0.375"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_layer_shows_its_sizes(name, backend):
    arguments, expected = SHOWN[name]
    layer = backend.layer(name, *arguments)
    text = repr(layer)
    assert name in text and f"{name} object at" not in text
    told = text + str(layer.get_config() if hasattr(layer, "get_config") else "")
    missing = [part for part in expected if not re.search(rf"(?<![\d.]){re.escape(part)}(?![\d.])", told)]
    assert not missing, told
