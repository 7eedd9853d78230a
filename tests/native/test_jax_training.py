"""Precision, dropout and derivatives in JAX."""

import math
import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import transformer_mb as tmb
from native.small import ONE_LAYER
from transformer_mb.backends.jax import EncoderBlock, MaskedSoftmaxCELoss, settings, trainer
from transformer_mb.backends.jax.dropout import _draw
from transformer_mb.backends.jax.linear import batched_product, reverse_mode, round_products
from transformer_mb.backends.jax.optimizers import Recipe, build_optimizer
from transformer_mb.backends.jax.shortcuts.compiled import product_precision
from transformer_mb.batch import Batch
from transformer_mb.trainer import TrainerOptions


@pytest.mark.long(but=1)
@pytest.mark.parametrize("tied", [False, True])
def test_bf16_rounds_products_alone(tied):
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, dropout=0.0, tie_output=tied, **ONE_LAYER), seed=0)
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


def test_a_step_multiplies_attention_of_two_bytes_in_two_bytes_backward_too():
    """By JAX itself the gradient, of float32, would be multiplied with what is cast to that; the values are NumPy's."""
    keys = jax.random.split(jax.random.key(0))
    A, B = (jax.random.normal(key, shape, jnp.bfloat16) for key, shape in zip(keys, [(2, 6, 4), (2, 4, 5)], strict=True))
    gradients = jax.grad(lambda A, B: (batched_product(A, B) ** 2).sum(), (0, 1))
    with reverse_mode():
        program, found = jax.make_jaxpr(gradients)(A, B), gradients(A, B)
    products = [equation for equation in program.eqns if equation.primitive.name == "dot_general"]
    assert [str(factor.aval.dtype) for product in products for factor in product.invars] == ["bfloat16"] * 4
    A, B = (np.asarray(factor, np.float64) for factor in (A, B))
    outer = 2.0 * A @ B
    for got, expected in zip(found, (outer @ B.swapaxes(1, 2), A.swapaxes(1, 2) @ outer), strict=True):
        assert np.linalg.norm(np.asarray(got, np.float64) - expected) < 2**-7 * np.linalg.norm(expected)


@pytest.mark.parametrize(("label", "expected"), [(3, math.log(4)), (4, math.nan), (-1, math.nan)])
def test_in_a_trace_a_label_that_is_not_there_has_no_loss(label, expected):
    loss = jax.jit(lambda labels: MaskedSoftmaxCELoss()(jnp.zeros((1, 2, 4)), labels, jnp.array([2])))
    np.testing.assert_allclose(loss(jnp.array([[3, label]])), [expected], rtol=1e-6)


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


@pytest.mark.long
def test_layers_have_derivatives_in_both_modes():
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, True)
    graphdef, parameters = nnx.split(block)
    X = jax.random.normal(jax.random.key(0), (2, 3, 8))

    def total(parameters):
        return (nnx.merge(graphdef, parameters)(X) ** 3).sum()

    gradient, along = jax.grad(total)(parameters), jax.tree.map(jnp.ones_like, parameters)
    _, slope = jax.jvp(total, (parameters,), (along,))
    np.testing.assert_allclose(slope, sum(leaf.sum() for leaf in jax.tree.leaves(gradient)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "adamw", "betas": (0.8, 0.98), "weight_decay": 0.3},
        {"betas": (0.0, 0.999), "clip_norm": 0.37},
        {"optimizer": "sgd", "momentum": 0.9, "clip_norm": 0.37},
    ],
)
def test_numbers_that_are_inputs_give_the_bits_of_constants(options):
    recipe, random = Recipe.of(TrainerOptions(learning_rate=0.0123, **options)), np.random.default_rng(0)
    values, gradients = ({name: jnp.asarray(random.standard_normal((5, 7)), jnp.float32) for name in "ab"} for _ in range(2))
    _, state = build_optimizer(values, recipe)
    given, held = (state, values), (state, values)
    as_inputs, as_constants = jax.jit(trainer._apply), jax.jit(partial(trainer._apply, recipe))
    for _ in range(3):
        given, held = as_inputs(recipe, *given, gradients)[::-1], as_constants(*held, gradients)[::-1]
    assert all(map(np.array_equal, jax.tree.leaves(given), jax.tree.leaves(held)))
    assert not np.array_equal(given[1]["a"], values["a"])


def test_trainers_of_other_numbers_share_a_program():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(10, 14, **ONE_LAYER), seed=0)
    ids, lens = np.array([[4, 9, 6]]), np.array([3])
    before = trainer._step.thorough._cache_size()
    for numbers in (
        {"betas": (0.8, 0.98), "eps": 1e-3},
        {"clip_norm": 0.5},
        {"learning_rate": 0.1, "seed": 3},
        {"clip_norm": 2.0},
    ):
        backend.trainer(model, **numbers).step(Batch(ids, lens, ids, ids, lens))
    assert trainer._step.thorough._cache_size() == before + 2  # one that clips


def asked_for(program):
    """The precisions of a program's products, as it says them to XLA."""
    return {word for word in ("HIGHEST", "HIGH", "DEFAULT") if f"precision = [{word}, {word}]" in program}


class Lowered(Exception):
    """The text of a program, which is not compiled."""


@pytest.mark.parametrize(("precision", "word"), [("full", "HIGHEST"), ("tf32", "HIGH")])
def test_a_step_asks_xla_for_tf32(precision, word, monkeypatch):
    """Which the processor here has not: the program says what a GPU would do."""
    step = trainer._step

    def lowered(*arguments):
        raise Lowered(step.thorough.lower(*arguments).as_text())

    monkeypatch.setattr(trainer, "_step", lowered)
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, **ONE_LAYER), seed=0)
    ids, lens = np.array([[4, 8, 6]]), np.array([3])
    with pytest.raises(Lowered) as program:
        backend.trainer(model, precision=precision).step(Batch(ids, lens, ids, ids, lens))
    assert asked_for(str(program.value)) == {word}


def test_the_matrix_can_have_the_switch_forgotten():
    def square(X):
        with product_precision():
            return X @ X

    function, programs = jax.jit(square), []
    for told in (False, True, False):
        if told:
            with settings.SETTINGS["TF32"]():
                programs.append(function.lower(np.ones((2, 2), np.float32)).as_text())
        else:
            programs.append(function.lower(np.ones((2, 2), np.float32)).as_text())
    assert list(map(asked_for, programs)) == [{"HIGHEST"}, {"HIGH"}, {"HIGHEST"}]


def test_a_trainer_follows_changed_attributes():
    """As evaluation does; of a model that is made so the first loss is the same."""
    backend = tmb.get_backend("jax")
    ids, lens = np.array([[4, 8, 6]]), np.array([3])
    batch, losses = Batch(ids, lens, ids, ids, lens), {}
    for changed in ("before", "after", "never"):
        model = backend.build(tmb.presets.d2l(9, 9, dropout=0.0, **ONE_LAYER), seed=0)
        ours = None if changed == "before" else backend.trainer(model)
        if changed != "never":
            model.decoder.blks[0].addnorm1.ln.eps = 1.0
        losses[changed] = float((ours or backend.trainer(model)).step(batch))
    assert losses["before"] == losses["after"] != losses["never"]


def test_each_seed_of_64_bits_has_a_key_of_its_own():
    """In a process of its own, whose JAX knows no float64; those of 32 bits are JAX' own."""
    program = """
import jax
from transformer_mb.backends.jax.trainer import _key
seeds = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63, 2**64 - 1]
keys = [jax.random.key_data(_key(seed)).tolist() for seed in seeds]
assert len(set(map(tuple, keys))) == len(seeds), keys
assert keys[:3] == [jax.random.key_data(jax.random.key(seed)).tolist() for seed in seeds[:3]]
assert jax.random.key_data(_key(-1)).tolist() == keys[-1] and not jax.config.jax_enable_x64
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_clone_keeps_its_weights_while_the_model_is_trained():
    """A teacher, or an average over steps: nnx.clone shares arrays, and a step must leave those alone."""
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(9, 9, **ONE_LAYER), seed=0)
    ids, lens = np.array([[4, 8, 6]]), np.array([3])
    ours, batch, clones = backend.trainer(model), Batch(ids, lens, ids, ids, lens), []
    for step in (ours.step, lambda batch: ours.accumulated_step([batch, batch])):
        clones.append((nnx.clone(model), backend.get_weights(model)))
        step(batch)
    for clone, before in clones:
        kept, now = backend.get_weights(clone), backend.get_weights(model)
        assert all(np.array_equal(kept[name], before[name]) for name in before)
        assert any((kept[name] != now[name]).any() for name in before)
