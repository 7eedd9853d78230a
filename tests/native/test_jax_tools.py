"""The rows of docs/NATIVE.md for JAX: each tool on a whole model, whose logits must stay what they are."""

import copy
import pickle

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from tools_page import check

import transformer_mb as tmb
from transformer_mb.errors import ShapeError
from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 24, "encoder_num_layers": 1, "decoder_num_layers": 1}
SOURCE, TARGET, LENS = jnp.array([[5, 6, 7], [8, 9, 3]]), jnp.array([[2, 4, 5], [2, 6, 7]]), jnp.array([3, 2])


@pytest.fixture(scope="module")
def model():
    model = tmb.get_backend("jax").build(d2l(23, 29, **SIZES), seed=0)
    model.eval()
    return model


def logits(model, *inputs):
    return model(*(inputs or (SOURCE, TARGET, LENS)))[0]


def equal(model, found):
    np.testing.assert_allclose(found, logits(model), rtol=0, atol=1e-5)


def jitted(model):
    graph, state = nnx.split(model)
    equal(model, jax.jit(lambda state: logits(nnx.merge(graph, state)))(state))


def mapped(model):
    def of_one(*row):
        return logits(model, *(each[None] for each in row))[0]

    equal(model, jax.vmap(of_one)(SOURCE, TARGET, LENS))


def of_any_size(model):
    graph, parameters, rest = nnx.split(model, nnx.Param, ...)
    B, S, T = jax.export.symbolic_shape("B, S, T", constraints=["S <= 1000", "T <= 1000"])
    program = jax.export.export(jax.jit(lambda given, *inputs: logits(nnx.merge(graph, given, rest), *inputs)))
    inputs = [jax.ShapeDtypeStruct(shape, SOURCE.dtype) for shape in ((B, S), (B, T), (B,))]
    program = program(parameters, *inputs)
    equal(model, program.call(parameters, SOURCE, TARGET, LENS))
    more = jnp.tile(SOURCE, (2, 3)), jnp.tile(TARGET, (2, 1)), jnp.array([9, 1, 4, 3])
    np.testing.assert_allclose(program.call(parameters, *more), logits(model, *more), rtol=0, atol=1e-5)


TOOLS = {
    "copy.deepcopy": lambda model: equal(model, logits(copy.deepcopy(model))),
    "pickle": lambda model: equal(model, logits(pickle.loads(pickle.dumps(model)))),
    "nnx.clone": lambda model: equal(model, logits(nnx.clone(model))),
    "nnx.split, nnx.merge": lambda model: equal(model, logits(nnx.merge(*nnx.split(model)))),
    "nnx.jit": lambda model: equal(model, nnx.jit(logits)(model)),
    "jax.jit of a merged state": jitted,
    "jax.vmap": mapped,
    "jax.export with sizes of any number": of_any_size,
    "nnx.eval_shape": lambda model: nnx.eval_shape(lambda: type(model).from_config(model.config)),
}
LONG = ("jax.export with sizes of any number", "nnx.jit", "jax.jit of a merged state", "jax.vmap")


@pytest.mark.parametrize("tool", [pytest.param(tool, marks=pytest.mark.long if tool in LONG else ()) for tool in TOOLS])
def test_what_the_page_says_of_a_tool_is_so(tool, model):
    check("jax", TOOLS, tool, model)


@pytest.mark.long
@pytest.mark.parametrize("place", ["W_q", "W_k", "W_v", "W_o"])
def test_flaxs_own_adapter_goes_around_a_projection(place, model):
    """Its second factor begins as zeros; with others it is part of the answer, in forward and in decoding."""
    backend, changed = tmb.get_backend("jax"), nnx.clone(model)
    attention = changed.decoder.blks[0].attention1
    adapter = nnx.LoRA(16, 2, 16, base_module=getattr(attention, place), rngs=nnx.Rngs(0))
    setattr(attention, place, adapter)
    equal(model, logits(changed))
    decoded = backend.greedy(model, np.asarray(SOURCE), np.asarray(LENS), 3)
    assert backend.greedy(changed, np.asarray(SOURCE), np.asarray(LENS), 3) == decoded
    shape = adapter.lora_b[...].shape  # not the same for every unit, which a norm would take away
    adapter.lora_b[...] = jnp.linspace(-3.0, 3.0, shape[0] * shape[1]).reshape(shape)
    assert np.abs(logits(changed) - logits(model)).max() > 1e-4


def test_a_model_is_built_in_a_trace():
    backend = tmb.get_backend("jax")
    config = d2l(23, 29, **SIZES)
    shapes = nnx.eval_shape(lambda: backend.build(config, seed=0))
    made = nnx.jit(lambda: backend.build(config, seed=0))()
    built = backend.build(config, seed=0)
    for found in (shapes, made):
        assert jax.tree.map(jnp.shape, nnx.to_pure_dict(nnx.state(found, nnx.Param))) == jax.tree.map(
            jnp.shape, nnx.to_pure_dict(nnx.state(built, nnx.Param))
        )
    equal(built, logits(made))


def test_a_size_that_is_left_open_needs_its_limit(model):
    tokens = jax.ShapeDtypeStruct(jax.export.symbolic_shape("B, S"), SOURCE.dtype)
    with pytest.raises(
        ShapeError, match="known to be at most max_len = 1000 tokens long, got S of them: .* constraint S <= 1000"
    ):
        jax.export.export(jax.jit(lambda tokens: model.encoder(tokens)))(tokens)
