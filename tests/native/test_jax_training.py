"""Precision, dropout and derivatives in JAX."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import transformer_mb as tmb
from transformer_mb.backends.jax import EncoderBlock
from transformer_mb.backends.jax.dropout import _draw
from transformer_mb.backends.jax.linear import round_products
from transformer_mb.trainer import Batch


@pytest.mark.some(1)
@pytest.mark.parametrize("tied", [False, True])
def test_bf16_rounds_products_alone(tied):
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, dropout=0.0, tie_output=tied), seed=0)
    ids, lens = np.array([[4, 8, 6]]), np.array([3])
    batch, losses = Batch(ids, lens, ids, ids, lens), {}
    for precision in ("full", "bf16"):
        ours = backend.trainer(backend.build(model.config, seed=0), optimizer="sgd", precision=precision, compile=True)
        losses[precision] = float(ours.step(batch))
        assert {parameter.value.dtype for parameter in ours.parameters.values()} == {jnp.dtype("float32")}
    assert losses["bf16"] != losses["full"] and abs(losses["bf16"] / losses["full"] - 1.0) < 0.01
    round_products(model, jnp.bfloat16)
    X = jax.random.normal(jax.random.key(0), (1, 3, 32), jnp.float32)
    block = model.encoder.blks[0]
    assert block.attention(X, X, X).dtype == block.ffn(X).dtype == model.decoder.dense(X).dtype == jnp.bfloat16
    assert block(X).dtype == jnp.float32


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_keeps_the_rate_and_no_pattern(rate):
    masks = jax.jit(lambda key: _draw(key, {"a": (rate, (512, 512)), "b": (rate, (512, 512))}))(jax.random.key(0))
    masks = [np.ravel(mask) - (1.0 - rate) for mask in masks.values()]
    limit = 5.0 / 512  # five standard deviations of a mean of 512 * 512 numbers of variance 1
    for mask in masks:
        assert abs(mask.mean()) < limit * math.sqrt(rate * (1.0 - rate))
        for lag in (1, 2, 16, 512):
            assert abs((mask[lag:] * mask[:-lag]).mean()) < limit * rate * (1.0 - rate)
    assert abs((masks[0] * masks[1]).mean()) < limit * rate * (1.0 - rate)


@pytest.mark.further
def test_layers_have_derivatives_in_both_modes():
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, True)
    graphdef, parameters = nnx.split(block)
    X = jax.random.normal(jax.random.key(0), (2, 3, 8))

    def total(parameters):
        return (nnx.merge(graphdef, parameters)(X) ** 3).sum()

    gradient, along = jax.grad(total)(parameters), jax.tree.map(jnp.ones_like, parameters)
    _, slope = jax.jvp(total, (parameters,), (along,))
    np.testing.assert_allclose(slope, sum(leaf.sum() for leaf in jax.tree.leaves(gradient)), rtol=1e-3, atol=1e-3)
