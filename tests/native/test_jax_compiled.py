"""What JAX compiles: how often, for what, and with which options of XLA's compiler."""

from collections import namedtuple
from contextlib import nullcontext

import jax
import numpy as np
import pytest
from flax import nnx

import transformer_mb as tmb
from native.small import ONE_LAYER
from transformer_mb.backends.jax import DotProductAttention, decoding, linear, trainer
from transformer_mb.backends.jax.settings import SETTINGS
from transformer_mb.backends.jax.shortcuts import compilation, compiled
from transformer_mb.batch import Batch


@pytest.fixture
def without_flags(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)


@pytest.fixture
def told(monkeypatch):
    """What each jax.jit is told of the compiler."""
    options, jit = [], jax.jit
    monkeypatch.setattr(jax, "jit", lambda *args, **named: options.append(named.get("compiler_options")) or jit(*args, **named))
    return options


def test_this_compiler_knows_the_options():
    known = *compilation.SELDOM.values(), *compilation.OFTEN.values(), compilation.DECODING
    options = [option for each in known for option in each.items()]
    assert options and all(compilation._known(name, value) for name, value in options)
    assert not compilation._known("xla_an_option_of_another_version", 1)


@pytest.mark.parametrize(("quickly", "options"), [(True, compilation.QUICKLY), (False, compilation.READILY)])
def test_a_function_is_compiled_with_them(quickly, options, without_flags, told):
    product = compilation.compiled(lambda times, X: times * X, 1, "cpu", quickly)
    assert product(2, np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert told == [options]


def test_another_version_is_told_what_it_knows(without_flags, told, monkeypatch):
    known = dict(compilation.QUICKLY)
    monkeypatch.setitem(compilation.QUICKLY, "xla_an_option_of_another_version", 1)
    assert compilation.compiled(lambda X: -X, 0, "cpu")(np.ones(())) == -1.0
    assert known in told and compilation.QUICKLY not in told


@pytest.mark.parametrize(("platform", "flags"), [("cpu", "--xla_backend_optimization_level=3"), ("cuda", "")])
def test_xla_flags_and_other_devices_have_their_own(platform, flags, told, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", flags)
    compilation.compiled(lambda X: -X, 0, platform)
    assert told == [None]


def test_what_is_asked_of_all_programs_is_asked_of_each(without_flags, told):
    """And no longer, once it is not asked any more: what was compiled before is taken again."""
    program, built = compilation.Program(lambda structure, X: -X, static_argnums=0), namedtuple("Built", "seldom_on")("")
    option = {"xla_gpu_deterministic_ops": True}
    for expected in (None, option, None):
        with SETTINGS["deterministic"]() if expected else nullcontext():
            program(built, np.ones(()))
            compilation.compiled(lambda X: -X, 0, "cpu")
    assert [asked for _, asked in program.made] == [(), tuple(option.items())]
    assert {**compilation.QUICKLY, **option} in told and not compilation.EVERYWHERE


@pytest.mark.parametrize(("vocabulary", "options"), [(11, compilation.QUICKLY), (1 << 15, compilation.READILY)])
def test_what_evaluates_a_small_model_is_compiled_quickly(vocabulary, options, without_flags, told):
    compilation._compiled.cache_clear()
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(vocabulary, 13, **ONE_LAYER), seed=0)
    backend.encode(model, np.array([[4, 9, 6]]), np.array([3]))
    assert [one for one in told if one] == [options]


@pytest.mark.parametrize(
    ("dtype", "vocabulary", "quickly"),
    [("float32", 11, False), ("float64", 11, True), ("bfloat16", 11, True), ("float16", 11, True), ("float64", 1 << 15, False)],
)
def test_only_a_small_model_of_another_dtype_than_float32_runs_seldom(dtype, vocabulary, quickly):
    model = tmb.get_backend("jax", dtype=dtype).build(tmb.presets.d2l(vocabulary, 13, **ONE_LAYER), seed=0)
    assert compiled.split(model)[0].seldom_on == ("cpu" if quickly else "")


@pytest.mark.parametrize("seldom", [True, False])
def test_what_runs_seldom_is_compiled_quickly(seldom, without_flags, told):
    program = compilation.Program(lambda structure, X: -X, static_argnums=0)
    assert program(namedtuple("Built", "seldom_on")("cpu" if seldom else ""), np.ones(())) == -1.0
    assert (compilation.QUICKLY in told) == seldom


@pytest.mark.parametrize(
    ("seldom_on", "on_cpu", "options"),
    [("cpu", True, compilation.QUICKLY), ("", True, compilation.DECODING), ("", False, None)],
)
def test_what_decodes_has_options_of_its_own_on_a_processor(seldom_on, on_cpu, options, without_flags, told):
    program, known = compilation.Program(lambda structure, X: -X, decodes=True, static_argnums=0), list(told)
    assert program(namedtuple("Built", "seldom_on on_cpu")(seldom_on, on_cpu), np.ones(())) == -1.0
    assert [one for one in told[len(known) :] if one and len(one) > 1] == ([options] if options else [])


def test_each_search_is_compiled_as_what_decodes():
    programs = decoding._generate, decoding._begin, decoding._beam_step
    assert all(program.decodes for program in programs) and not (trainer._step.decodes or trainer._add.decodes)


def test_a_changed_attribute_is_seen():
    backend = tmb.get_backend("jax")
    configs = (tmb.presets.d2l(11, 13, compat_decode=compat, **ONE_LAYER) for compat in ("correct", "d2l"))
    model, book = (backend.build(config, seed=0) for config in configs)
    inputs = np.array([[4, 9, 6]]), np.array([[2, 5, 7]]), np.array([3])
    correct = backend.logits(model, *inputs)
    for block in model.decoder.blks:
        block.compat_decode = "d2l"
    changed = backend.logits(model, *inputs)
    np.testing.assert_array_equal(changed, backend.logits(book, *inputs))
    assert np.abs(changed - correct).max() > 1e-3


def test_a_changed_array_is_seen_and_a_hook_obeyed():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(11, 13, **ONE_LAYER), seed=0)
    kernel, ones = model.decoder.dense.kernel, np.ones((32, 13), np.float32)
    for array in (kernel[...], jax.numpy.asarray(ones)):
        kernel[...] = array
        assert compiled.split(model)[1]["decoder.dense.weight"] is kernel[...]
    model.decoder.dense.kernel = nnx.Param(kernel[...], on_get_value=lambda variable, array: 2.0 * array)
    np.testing.assert_array_equal(compiled.split(model)[1]["decoder.dense.weight"], 2.0 * ones)


@pytest.mark.parametrize("rows", [1, 2, linear.FEW_ROWS, linear.FEW_ROWS + 1])
def test_a_tied_output_is_the_same_for_few_rows_and_many(rows):
    embedding = nnx.Embed(7, 5, rngs=nnx.Rngs(0))
    bias = nnx.Param(jax.random.normal(jax.random.key(1), (7,)))
    X = jax.random.normal(jax.random.key(2), (rows, 1, 5))
    layer = linear.TiedLinear(embedding, bias, None)
    expected = np.asarray(X, np.float64) @ np.asarray(embedding.embedding[...], np.float64).T + np.asarray(bias[...])
    np.testing.assert_allclose(jax.jit(layer)(X), expected, atol=1e-5)
    gradient = jax.jit(jax.grad(lambda X: layer(X).sum()))(X)
    np.testing.assert_allclose(gradient, np.broadcast_to(embedding.embedding[...].sum(0), X.shape), atol=1e-5)


def test_a_decoding_step_lays_no_buffer_out_anew():
    """Keys and values of earlier steps are read as they lie: a copy of them takes longer than the products."""
    keys, query = jax.numpy.ones((3, 4, 50, 8)), jax.numpy.ones((3, 4, 1, 8))
    attention = DotProductAttention(0.0)
    attention.eval()
    text = jax.jit(attention).lower(query, keys, keys).compile().as_text()
    copied = [line for line in text.splitlines() if "f32[3,4,50,8]" in line.partition("=")[2].partition("(")[0]]
    assert all("parameter(" in line or "HloModule" in line for line in copied), copied


@pytest.mark.long
def test_decoding_drops_nothing_of_a_model_in_training_mode():
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(11, 13, dropout=0.5, **ONE_LAYER), seed=0)
    source, valid_lens = np.array([[4, 9, 6, 7, 10], [5, 4, 8, 3, 1]]), np.array([5, 4])
    expected = [search(model, source, valid_lens, 8) for search in (backend.greedy, backend.beam)]
    model.train()
    assert [search(model, source, valid_lens, 8) for search in (backend.greedy, backend.beam)] == expected


@pytest.mark.long(but=1)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_training_step_is_compiled_once(optimizer):
    """What a step returns is placed as what the first step, or one from a loaded state, was given."""
    backend = tmb.get_backend("jax")
    model = backend.build(tmb.presets.d2l(11, 13, **ONE_LAYER), seed=0)
    ids, lens = np.array([[4, 9, 6]]), np.array([3])
    batch, before = Batch(ids, lens, ids, ids, lens), trainer._step.thorough._cache_size()
    ours = backend.trainer(model, optimizer=optimizer, momentum=0.9)
    for _ in range(3):
        ours.step(batch)
    ours.load_state_dict(ours.state_dict())
    ours.step(batch)
    assert trainer._step.thorough._cache_size() == before + 1
