"""What the backend's calls do to a module of flax, and which they take."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import transformer_mb as tmb
from native.small import ONE_LAYER
from transformer_mb.backends.jax import LayerNorm
from transformer_mb.backends.jax.weights import named_layers
from transformer_mb.errors import ShapeError


def test_apply_leaves_every_module_in_its_mode():
    """A mode of each module's own: flax keeps one in every dropout."""
    backend = tmb.get_backend("jax")
    block = backend.layer("EncoderBlock", 8, 8, 8, 8, [8], 8, 16, 2, 0.5)
    X = np.ones((1, 3, 8))
    for training in (False, True):
        block.eval()
        block.addnorm1.train()
        before = [(path, module.deterministic) for path, module in named_layers(block) if hasattr(module, "deterministic")]
        assert {mode for _, mode in before} == {False, True}
        backend.apply(block, X, training=training)
        backend.gradients(block, [X], X, training=training)
        with pytest.raises(ShapeError):
            backend.apply(block, X[0], training=training)
        assert before == [
            (path, module.deterministic) for path, module in named_layers(block) if hasattr(module, "deterministic")
        ]


def test_a_method_runs_in_the_mode_of_the_call():
    backend = tmb.get_backend("jax")
    layer = backend.layer("MultiHeadAttention", 8, 8, 8, 8, 2, 0.5)
    X = np.random.default_rng(0).standard_normal((2, 3, 8))
    keys, values = backend.apply(layer.project_keys_values, X, X)
    whole = backend.apply(layer, X, X, X)
    np.testing.assert_allclose(backend.apply(layer.attend, X, keys, values), whole, atol=1e-6)
    assert np.abs(backend.apply(layer.attend, X, keys, values, training=True) - whole).max() > 1e-3


def test_a_subclass_without_a_constructor_of_its_own_is_made():
    class Norm(LayerNorm):
        pass

    layer = tmb.get_backend("jax", dtype="bfloat16").make(Norm, 8)
    assert type(layer) is Norm and layer.scale[...].dtype == jnp.bfloat16


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
@pytest.mark.parametrize("limit", ["max_len", "max_steps"])
def test_a_compiled_decoder_gives_nan_beyond_the_last_step(limit, position):
    """There the number of steps is traced, and JAX has no errors; a slice beyond the end would begin earlier."""
    sizes = {"max_len": 60, "max_steps": 60, limit: 3}
    config = tmb.presets.d2l(9, 9, max_len=sizes["max_len"], position=position, **ONE_LAYER)
    decoder = tmb.get_backend("jax").build(config).decoder
    decoder.eval()
    state = decoder.init_state(jnp.zeros((2, 3, 32)), None, sizes["max_steps"])
    step, token = nnx.jit(lambda decoder, token, state: decoder(token, state)), jnp.array([[5], [6]])
    for beyond in (False, False, False, True, True):
        logits, state = step(decoder, token, state)
        assert np.isnan(logits).all() if beyond else np.isfinite(logits).all()
