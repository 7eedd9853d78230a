"""Our layers in a user's own flax.nnx and JAX programs."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import transformer_mb as tmb
from native.small import LAST_KEPT, ONE_LAYER, tokens_of_late_sums
from transformer_mb.backends.jax import (
    AddNorm,
    DecoderBlock,
    DotProductAttention,
    EncoderBlock,
    EncoderDecoder,
    MultiHeadAttention,
    PositionWiseFFN,
    TransformerDecoder,
)
from transformer_mb.backends.jax.decoding import drawn
from transformer_mb.backends.jax.feed_forward import ACTIVATIONS
from transformer_mb.backends.jax.weights import held_by
from transformer_mb.batch import Batch


def normal(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32)


@nnx.jit
def train_step(model, optimizer, X, target):
    loss, gradients = nnx.value_and_grad(lambda model: jnp.square(model(X) - target).mean())(model)
    optimizer.update(model, gradients)
    return loss


def train(model, X, target, steps=60):
    optimizer = nnx.Optimizer(model, optax.adamw(0.01), wrt=nnx.Param)
    return [float(train_step(model, optimizer, X, target)) for _ in range(steps)]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_an_encoder_block_in_a_sequential_model(dropout):
    rngs = nnx.Rngs(0)
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, dropout, rngs=rngs)
    model = nnx.Sequential(nnx.Linear(6, 8, rngs=rngs), block, nnx.Linear(8, 3, rngs=rngs))
    losses = train(model, normal(1, 4, 5, 6), normal(2, 4, 5, 3))
    assert losses[-1] < 0.5 * losses[0]  # 0.004 to 0.04 of it with ten seeds


class Reader(nnx.Module):
    def __init__(self, rngs):
        self.attention = MultiHeadAttention(8, 8, 8, 8, 2, 0.0, rngs=rngs)
        self.head = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, X):
        return self.head(self.attention(X, X, X, jnp.array([5, 3, 4, 1])))


def test_attention_in_a_users_module():
    losses = train(Reader(nnx.Rngs(3)), normal(1, 4, 5, 8), normal(2, 4, 5, 3))
    assert losses[-1] < 0.8 * losses[0]


def test_other_random_streams_give_other_weights():
    kernels = [MultiHeadAttention(8, 8, 8, 8, 2, 0.0, rngs=rngs).W_q.kernel[...] for rngs in (None, nnx.Rngs(0), nnx.Rngs(1))]
    assert (kernels[0] == kernels[1]).all() and (kernels[0] != kernels[2]).any()


CONFIG = tmb.TransformerConfig(source_vocab_size=10, target_vocab_size=11, **ONE_LAYER)
LAYERS = [
    lambda **given: AddNorm([8], 0.0, **given),
    lambda **given: DotProductAttention(0.0, **given),
    lambda **given: MultiHeadAttention(8, 8, 8, 8, 2, 0.0, **given),
    lambda **given: PositionWiseFFN(8, 16, 8, **given),
    lambda **given: EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, **given),
    lambda **given: DecoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, 0, **given),
    lambda **given: EncoderDecoder.from_config(CONFIG, **given),
]


@pytest.mark.parametrize("make", LAYERS)
def test_parameters_are_float32_and_drawn_from_stream_0_unless_told(make):
    layers = [make(), make(rngs=nnx.Rngs(0)), make(rngs=nnx.Rngs(1))]
    plain, same, other = (jax.tree.leaves(nnx.state(layer, nnx.Param)) for layer in layers)
    assert {str(weight.dtype) for weight in plain} <= {"float32"}
    for weight, again in zip(plain, same, strict=True):
        np.testing.assert_array_equal(weight, again)
    drawn = [weight for weight in plain if jnp.std(weight) > 0]  # not a norm's ones and zeros
    assert not drawn or any((weight != another).any() for weight, another in zip(plain, other, strict=True))


@pytest.mark.parametrize("form", ["clone", "split and merge", "update"])
def test_a_layer_is_an_ordinary_module(form):
    layer, X = MultiHeadAttention(8, 8, 8, 8, 2, 0.0, rngs=nnx.Rngs(1)), normal(1, 2, 3, 8)
    if form == "clone":
        other = nnx.clone(layer)
    elif form == "split and merge":
        other = nnx.merge(*nnx.split(layer))
    else:
        other = MultiHeadAttention(8, 8, 8, 8, 2, 0.0, rngs=nnx.Rngs(2))
        assert (other(X, X, X) != layer(X, X, X)).any()
        nnx.update(other, nnx.state(layer))
    np.testing.assert_array_equal(other(X, X, X), layer(X, X, X))


def test_a_module_from_outside_works_under_jax_transformations():
    layer, X = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.5), normal(1, 2, 3, 8)
    layer.eval()
    plain = layer(X)
    np.testing.assert_allclose(jax.jit(layer)(X), plain, atol=1e-5)
    np.testing.assert_allclose(jax.vmap(layer)(X[None])[0], plain, atol=1e-5)
    assert np.isfinite(jax.grad(lambda X: layer(X).sum())(X)).all()


def test_a_new_block_is_in_training_mode():
    """There the book's block is causal as ours is; in evaluation it has no causal mask."""
    make = partial(DecoderBlock, 8, 8, 8, 8, [8], 8, 16, 2, 0.0, 0)
    correct, book = make(), make(compat_decode="d2l")
    X = normal(1, 2, 3, 8)
    state = [normal(2, 2, 4, 8), None, [None]]
    np.testing.assert_array_equal(book(X, state)[0], correct(X, state)[0])
    book.eval()
    assert jnp.abs(book(X, state)[0] - correct(X, state)[0]).max() > 1e-3


@pytest.mark.long
def test_kept_attention_weights_are_in_nobodys_way():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(11, 13, **ONE_LAYER), seed=0)
    source, valid_lens = np.array([[4, 9, 6, 7, 10]]), np.array([4])
    expected = backend.greedy(model, source, valid_lens, 4)
    model.eval()
    state = model.decoder.init_state(model.encoder(source, jnp.asarray(valid_lens), need_weights=True), jnp.asarray(valid_lens))
    model.decoder(jnp.array([[2, 5]]), state, need_weights=True)
    assert model.decoder.attention_weights[0][0].shape == (1, 4, 2, 2)
    assert backend.greedy(model, source, valid_lens, 4) == expected


@pytest.mark.long
def test_a_preallocated_cache_decodes_in_a_compiled_loop():
    decoder = TransformerDecoder(13, 8, 8, 8, 8, [8], 8, 16, 2, 2, 0.0, cross_attention=False)
    decoder.eval()
    tokens = jnp.array([[2, 5, 6, 7, 3], [2, 8, 3, 1, 1]])
    whole, _ = decoder(tokens, decoder.init_state(None))
    first, state = decoder(tokens[:, :1], decoder.init_state(None, max_steps=5))

    def step(state, column):
        logits, state = decoder(column[:, None], state)
        return state, logits[:, 0]

    _, rest = jax.jit(lambda state, columns: jax.lax.scan(step, state, columns))(state, tokens[:, 1:].T)
    np.testing.assert_allclose(jnp.concatenate([first, rest.swapaxes(0, 1)], axis=1), whole, atol=1e-5)
    eager = []
    for column in range(1, 5):
        logits, state = decoder(tokens[:, column : column + 1], state, need_weights=True)
        eager.append(logits[:, 0])
        assert decoder.attention_weights[0][0].shape == (2, 2, 1, column + 1)
    np.testing.assert_allclose(jnp.stack(eager), rest, atol=1e-5)


@pytest.mark.parametrize("position", ["relative", "rotary", "sinusoidal"])
def test_a_compiled_piece_continues_a_buffer_that_a_user_closed_over(position):
    """Its length is an array of the user's own, and a sum of it is traced."""
    decoder = TransformerDecoder(13, 8, 8, 8, 8, [8], 8, 16, 2, 1, 0.0, cross_attention=False, position=position)
    decoder.eval()
    tokens = jnp.array([[2, 5, 6, 7, 3]])
    whole, _ = decoder(tokens, decoder.init_state(None))
    _, state = jax.jit(decoder)(tokens[:, :3], decoder.init_state(None, max_steps=9))
    rest, _ = jax.jit(lambda piece: decoder(piece, state))(tokens[:, 3:])
    np.testing.assert_allclose(rest, whole[:, 3:], atol=1e-5)


def test_the_models_variables_follow_the_trainer_and_the_trainer_them():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, dropout=0.0, **ONE_LAYER))
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=0.1)
    ids, lens = np.full((2, 3), 5), np.array([3, 2])
    batch = Batch(ids, lens, ids, ids, lens)
    before = np.array(model.decoder.dense.kernel[...])
    first = float(trainer.step(batch))
    assert (np.asarray(model.decoder.dense.kernel[...]) != before).any()
    np.testing.assert_array_equal(model.decoder.dense.kernel[...].T, backend.get_weights(model)["decoder.dense.weight"])
    assert float(trainer.step(batch)) < first
    backend.set_weights(model, backend.get_weights(backend.build(tmb.presets.d2l(9, 9, dropout=0.0, **ONE_LAYER))))
    assert float(trainer.step(batch)) == first


def test_float32_leaves_jax_as_it_was():
    program = """
import jax
import transformer_mb as tmb
backend = tmb.get_backend("jax")
model = backend.build(tmb.presets.d2l(9, 9))
backend.greedy(model, [[5, 6]], [2], 3)
assert not jax.config.jax_enable_x64
tmb.get_backend("jax", dtype="float64")
assert jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_adams_corrections_have_all_digits_of_float32():
    """In a process of its own, whose JAX knows no float64: there 1 - 0.999 would be off by 1.3e-5 of itself."""
    program = """
import jax, numpy as np
from transformer_mb.backends.jax.optimizers import build_optimizer
from transformer_mb.backends.jax.optimizers import Recipe
from transformer_mb.trainer import TrainerOptions
gradient, m, v = np.linspace(-2, 2, 64, dtype=np.float32), 0.0, 0.0
transformation, state = build_optimizer({"W": jax.numpy.zeros(64)}, Recipe.of(TrainerOptions(optimizer="adam")))
for step in range(1, 21):
    m, v = 0.9 * m + 0.1 * gradient.astype(float), 0.999 * v + 0.001 * gradient.astype(float) ** 2
    expected = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    update, state = jax.jit(transformation.update)({"W": gradient}, state)
    np.testing.assert_allclose(update["W"], expected, rtol=0, atol=1e-6)
    gradient = np.roll(gradient, 1)
assert not jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_adamw_is_that_of_optax():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, **ONE_LAYER), seed=0)
    ours, weights = backend.trainer(model, optimizer="adamw", weight_decay=0.3, learning_rate=0.01), backend.get_weights(model)
    theirs = optax.adamw(0.01, weight_decay=0.3)
    state, random = theirs.init(weights), np.random.default_rng(0)
    for _ in range(3):
        gradients = {name: random.standard_normal(value.shape).astype("float32") for name, value in weights.items()}
        ours.update(gradients)
        updates, state = theirs.update(gradients, state, weights)
        weights = optax.apply_updates(weights, updates)
    for name, weight in backend.get_weights(model).items():
        np.testing.assert_allclose(weight, weights[name], rtol=1e-5, atol=1e-6)


def test_random_streams_of_a_model_begin_at_keys_of_their_own():
    """Those that jax.random.key makes of 0, 1, 2 and so on."""
    config = tmb.TransformerConfig(source_vocab_size=9, target_vocab_size=9, dropout=0.1)
    model = tmb.get_backend("jax").create_empty(config)
    keys = [held_by(leaf) for _, leaf in nnx.iter_graph(model) if isinstance(leaf, nnx.RngKey)]
    assert len(keys) > 10 and {key.dtype for key in keys} == {jax.random.key(0).dtype}
    found = sorted(jax.random.key_data(key).tolist() for key in keys)
    assert found == [jax.random.key_data(jax.random.key(seed)).tolist() for seed in range(len(keys))]


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_the_slope_of_gelu_tanh_errs_no_more_than_that_of_jax(dtype):
    """In 16-bit formats sigmoid(2u) for (1 + tanh u) / 2 has twice the error, in float64 a thousandth of it."""
    X = jnp.linspace(-6.0, 6.0, 2001).astype(dtype)
    ours, theirs, exact = (
        np.asarray(jax.vmap(jax.grad(function))(numbers), np.float64)
        for function, numbers in (
            (ACTIVATIONS["gelu_tanh"], X), (partial(jax.nn.gelu, approximate=True), X), (jax.nn.gelu, X.astype(jnp.float32)),
        )
    )  # fmt: skip
    assert np.square(ours - exact).mean() <= 1.05 * np.square(theirs - exact).mean()


@pytest.mark.parametrize("function", [ACTIVATIONS["gelu_tanh"], jax.grad(ACTIVATIONS["gelu_tanh"])])
def test_gelu_tanh_of_float32_asks_for_no_tanh(function):
    """XLA's on a GPU made the network err 17 times as much as NumPy's, and nothing here can compute as it does."""
    assert "logistic" in (asked := str(jax.make_jaxpr(function)(jnp.float32(0.5)))) and "tanh" not in asked


def test_a_sum_that_ends_late_draws_the_last_token_that_was_kept():
    assert tokens_of_late_sums(drawn, jnp.asarray) == LAST_KEPT
