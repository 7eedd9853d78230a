"""The rows of docs/NATIVE.md for Paddle: each tool on a whole model, whose logits must stay what they are."""

import copy
import pickle

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.distributed.fleet.utils import recompute
from tools_page import check

import transformer_mb as tmb
from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_layers": 1, "decoder_num_layers": 1}
SOURCE, TARGET, LENS = np.array([[5, 6, 7], [8, 9, 3]]), np.array([[2, 4, 5], [2, 6, 7]]), np.array([3, 2])


class Wrapper(nn.Layer):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.factor = layer, 1.0

    def forward(self, X):
        return self.layer(X) * self.factor


@pytest.fixture
def model():
    model = tmb.get_backend("paddle").build(d2l(23, 29, **SIZES), seed=0)
    model.eval()
    return model


def logits(model):
    return model(*map(paddle.to_tensor, (SOURCE, TARGET, LENS)))[0].numpy()


def equal(model, other):
    np.testing.assert_allclose(logits(other), logits(model), rtol=0, atol=1e-5)


def hooks(model):
    seen, names = set(), dict(model.named_sublayers())
    for name, layer in names.items():
        layer.register_forward_post_hook(lambda *_, name=name: seen.add(name))
    logits(model)
    assert names.keys() - seen == {"encoder.blks", "decoder.blks"}  # lists, which are gone through


def normalized(model):
    changed = copy.deepcopy(model)
    for layer in [layer for layer in changed.sublayers() if isinstance(layer, nn.Linear)]:
        nn.utils.weight_norm(layer)
    equal(model, changed)
    assert len(tmb.get_backend("paddle").greedy(changed, SOURCE, LENS, 3)) == 2


def recomputed(model):
    X = paddle.rand([2, 3, 16])
    X.stop_gradient = False
    recompute(model.encoder.blks[0], X, use_reentrant=False).sum().backward()
    assert X.grad.abs().max() > 0


TOOLS = {
    "copy.deepcopy": lambda model: equal(model, copy.deepcopy(model)),
    "pickle": lambda model: equal(model, pickle.loads(pickle.dumps(model))),
    "register_forward_post_hook on every layer": hooks,
    "paddle.nn.utils.weight_norm": normalized,
    "paddle.distributed.fleet.utils.recompute(use_reentrant=False)": recomputed,
    "paddle.summary of a block": lambda model: paddle.summary(model.encoder.blks[0], (2, 3, 16)),
    "paddle.summary of a whole model": lambda model: paddle.summary(model, [(2, 3), (2, 3), (2,)], dtypes=["int64"] * 3),
    "paddle.jit.to_static(full_graph=True)": lambda model: equal(
        model, paddle.jit.to_static(copy.deepcopy(model), full_graph=True)
    ),
    "paddle.jit.to_static(full_graph=False)": lambda model: logits(
        paddle.jit.to_static(copy.deepcopy(model), full_graph=False)
    ),
}
LONG = ("paddle.jit.to_static(full_graph=True)", "paddle.jit.to_static(full_graph=False)")


@pytest.mark.parametrize("tool", [pytest.param(tool, marks=pytest.mark.long if tool in LONG else ()) for tool in TOOLS])
def test_what_the_page_says_of_a_tool_is_so(tool, model):
    check("paddle", TOOLS, tool, model)


PLACES = {
    "W_q": lambda model: (model.encoder.blks[0].attention, "W_q"),
    "W_k": lambda model: (model.decoder.blks[0].attention1, "W_k"),
    "W_o": lambda model: (model.decoder.blks[0].attention2, "W_o"),
    "dense1": lambda model: (model.decoder.blks[0].ffn, "dense1"),
    "ln": lambda model: (model.encoder.blks[0].addnorm1, "ln"),
    "dense": lambda model: (model.decoder, "dense"),
    "embedding": lambda model: (model.decoder, "embedding"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_layer_around_one_of_ours_is_obeyed(place, model):
    backend, expected = tmb.get_backend("paddle"), logits(model)
    decoded = backend.greedy(model, SOURCE, LENS, 3)
    holder, name = PLACES[place](model)
    wrapper = Wrapper(getattr(holder, name))
    setattr(holder, name, wrapper)
    np.testing.assert_allclose(logits(model), expected, rtol=0, atol=1e-5)
    assert backend.greedy(model, SOURCE, LENS, 3) == decoded
    wrapper.factor = 0.0
    assert np.abs(logits(model) - expected).max() > 1e-6
