"""The rows of docs/NATIVE.md for MXNet: each tool on a whole model, whose logits must stay what they are."""

import copy
import pickle

import numpy as np
import pytest
from tools_page import check

from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
from mxnet import np as mnp

from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_layers": 1, "decoder_num_layers": 1}
INPUTS = [[5, 6, 7], [8, 9, 3]], [[2, 4, 5], [2, 6, 7]], [3, 2]


@pytest.fixture
def model():
    return layers.BACKEND().build(d2l(23, 29, **SIZES), seed=0)


def tensors():
    return [mnp.array(each, dtype="int64") for each in INPUTS]


def logits(model):
    return model(*tensors())[0].asnumpy()


def equal(model, other):
    np.testing.assert_allclose(logits(other), logits(model), rtol=0, atol=1e-5)


def within(block, path="model"):
    found = {path: block}
    for name, child in block._children.items():
        found |= within(child, f"{path}.{name}")
    return found


def hooks(model):
    seen, blocks = set(), within(model)
    for path, block in blocks.items():
        block.register_forward_hook(lambda *_, path=path: seen.add(path))
    logits(model)
    assert blocks.keys() - seen == {"model.encoder.blks", "model.decoder.blks"}  # lists, which are gone through


def hybridized(model):
    expected = logits(model)
    model.hybridize()
    np.testing.assert_allclose(logits(model), expected, rtol=0, atol=1e-5)


TOOLS = {
    "copy.deepcopy": lambda model: equal(model, copy.deepcopy(model)),
    "pickle": lambda model: equal(model, pickle.loads(pickle.dumps(model))),
    "register_forward_hook on every block": hooks,
    "hybridize": hybridized,
    "summary": lambda model: model.summary(*tensors()),
    "export": lambda model: model.export("program"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_page_says_of_a_tool_is_so(tool, model):
    check("mxnet", TOOLS, tool, model)
