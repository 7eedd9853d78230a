"""The rows of docs/NATIVE.md for NumPy, and layers in the place of ours."""

import copy
import pickle

import numpy as np
import pytest
from tools_page import check

import transformer_mb as tmb
from transformer_mb.backends.numpy.framework import Layer
from transformer_mb.batch import Batch
from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_layers": 1, "decoder_num_layers": 1}
SOURCE, TARGET, LENS = np.array([[5, 6, 7], [8, 9, 3]]), np.array([[2, 4, 5], [2, 6, 7]]), np.array([3, 2])


class Wrapper(Layer):
    """A layer with a backward pass of its own, as an adapter is."""

    def __init__(self, layer, factor=1.0):
        self.layer, self.factor = layer, factor

    def forward(self, X):
        return self.layer(X) * self.factor

    def backward(self, gradient):
        return self.layer.backward(gradient * self.factor)


@pytest.fixture
def backend():
    return tmb.get_backend("numpy", dtype="float64")


@pytest.fixture
def model(backend):
    return backend.build(d2l(23, 29, **SIZES), seed=0)


def logits(model):
    return tmb.get_backend("numpy", dtype="float64").logits(model, SOURCE, TARGET, LENS)


def equal(model, other):
    np.testing.assert_array_equal(logits(other), logits(model))


TOOLS = {
    "copy.deepcopy": lambda model: equal(model, copy.deepcopy(model)),
    "pickle": lambda model: equal(model, pickle.loads(pickle.dumps(model))),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_page_says_of_a_tool_is_so(tool, model):
    check("numpy", TOOLS, tool, model)


def places(model):
    encoder, decoder = next(iter(model.encoder.blks)), next(iter(model.decoder.blks))
    return {
        **{f"encoder {name}": (encoder.attention, name) for name in ("W_q", "W_k", "W_v", "W_o")},
        **{f"self {name}": (decoder.attention1, name) for name in ("W_q", "W_k", "W_v")},
        **{f"cross {name}": (decoder.attention2, name) for name in ("W_q", "W_k", "W_v")},
        **{name: (decoder.ffn, name) for name in ("dense1", "dense2")},
        "dense": (model.decoder, "dense"),
        "embedding": (model.encoder, "embedding"),
    }


@pytest.mark.parametrize(
    "place",
    [f"{kind} W_{part}" for kind in ("encoder", "self", "cross") for part in "qkv"]
    + ["encoder W_o", "dense1", "dense2", "dense", "embedding"],
)
def test_a_layer_around_one_of_ours_is_obeyed_forward_and_backward(place, backend, model):
    """Gradients of the wrapped weights are those of the plain model, times the factor where there is one."""
    batch = Batch(SOURCE, LENS, TARGET, TARGET, LENS)
    expected, decoded = logits(model), backend.greedy(model, SOURCE, LENS, 3)
    loss, gradients = backend.loss_and_gradients(model, batch)
    holder, name = places(model)[place]
    wrapper = Wrapper(getattr(holder, name))
    setattr(holder, name, wrapper)
    np.testing.assert_allclose(logits(model), expected, rtol=0, atol=1e-12)
    assert backend.greedy(model, SOURCE, LENS, 3) == decoded
    found, wrapped = backend.loss_and_gradients(model, batch)
    assert found == pytest.approx(loss, rel=1e-12)
    for path, gradient in wrapped.items():
        np.testing.assert_allclose(gradient, gradients[path.replace(".layer.", ".")], rtol=1e-9, atol=1e-12)
    wrapper.factor = 0.0
    assert np.abs(logits(model) - expected).max() > 1e-6
