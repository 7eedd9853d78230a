"""The two schemes of initial weights."""

from __future__ import annotations

import numpy as np
import pytest

from transformer_mb.errors import ConfigError
from transformer_mb.initialization import initial_weights
from transformer_mb.presets import annotated, d2l, vaswani_base
from transformer_mb.training import TrainingRecipe

WIDE = {"num_hiddens": 64, "ffn_num_hiddens": 96}


@pytest.mark.parametrize(
    ("scheme", "name", "limit"),
    [
        ("xavier", "encoder.blks.block0.ffn.dense1.weight", np.sqrt(6 / (64 + 96))),
        ("torch_default", "encoder.blks.block0.ffn.dense1.weight", 64**-0.5),
        ("torch_default", "encoder.blks.block0.ffn.dense2.weight", 96**-0.5),
        ("torch_default", "encoder.blks.block0.ffn.dense2.bias", 96**-0.5),
        ("torch_default", "decoder.blks.block1.attention2.W_q.bias", 64**-0.5),
        ("torch_default", "decoder.dense.bias", 64**-0.5),
    ],
)
def test_linear_weights_fill_their_interval(scheme, name, limit):
    values = initial_weights(annotated(50, 60, **WIDE), 3, scheme)[name]
    assert 0.9 * limit < np.abs(values).max() <= limit
    assert abs(values.mean()) < 0.2 * limit


@pytest.mark.parametrize(("scheme", "deviation"), [("xavier", 1 / 8), ("torch_default", 1.0)])
def test_embeddings(scheme, deviation):
    table = initial_weights(d2l(200, 210, **WIDE), 3, scheme)["decoder.embedding.weight"]
    assert table.std() == pytest.approx(deviation, rel=0.03)


@pytest.mark.parametrize("scheme", ["xavier", "torch_default"])
def test_norms_start_as_the_identity(scheme):
    weights = initial_weights(annotated(11, 13, **WIDE), 0, scheme)
    norms = [name for name in weights if ".ln." in name or ".norm." in name]
    assert len(norms) == 2 * (6 * 2 + 6 * 3 + 2)
    for name in norms:
        np.testing.assert_array_equal(weights[name], float(name.endswith("weight")))


def test_xavier_biases_are_zero_and_a_tied_output_keeps_its_bias():
    weights = initial_weights(annotated(11, 13, **WIDE))
    assert all(not weights[name].any() for name in weights if name.endswith(".bias"))
    tied = initial_weights(vaswani_base(13, 13, **WIDE, output_bias=True), 0, "torch_default")
    assert "decoder.dense.weight" not in tied and np.abs(tied["decoder.dense.bias"]).max() > 0


def test_an_unknown_scheme_is_refused():
    words = "initialization must be one of xavier, torch_default, got 'zeros'"
    with pytest.raises(ConfigError, match=words):
        initial_weights(d2l(11, 13), 0, "zeros")
    with pytest.raises(ConfigError, match=words):
        TrainingRecipe(initialization="zeros")
