"""Decoding steps past the layers: they compute what the layers do, and go through those that somebody has replaced."""

import numpy as np
import pytest
import tensorflow as tf

import transformer_mb as tmb
from transformer_mb.backends.tensorflow.model import EncoderDecoder
from transformer_mb.backends.tensorflow.shortcuts.decoding_steps import DecodingSteps, is_plain
from transformer_mb.config import TransformerConfig
from transformer_mb.decoding.sampling import Sampling

DECODER = {"target_vocab_size": 20, "num_hiddens": 8, "ffn_num_hiddens": 16, "decoder_num_heads": 2, "max_len": 12}
SIZES = {**DECODER, "source_vocab_size": 20, "encoder_num_heads": 2}
CONFIGS = {
    "the book's": {"compat_decode": "d2l"},
    "tied": {"share_embeddings": True, "tie_output": True, "output_bias": True, "padding_vector_zero": True},
    "pre": {"norm_position": "pre", "final_norm": True, "decoder_attention_bias": True, "activation": "gelu"},
    "learned": {"position": "learned", "position_offset": 2, "embedding_norm": True, "norm_kind": "rms_norm"},
}


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("tensorflow", dtype="float64")


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", CONFIGS)
def test_steps_compute_what_the_layers_do(backend, name, rows):
    model, rng = backend.build(TransformerConfig(**SIZES, **CONFIGS[name]), seed=1), np.random.default_rng(2)
    assert is_plain(model.decoder)
    # Initial biases are zeros, which nobody misses.
    vectors = {
        path: array + rng.normal(size=array.shape) for path, array in backend.get_weights(model).items() if array.ndim == 1
    }
    backend.set_weights(model, {**backend.get_weights(model), **vectors})
    source, target = rng.integers(4, 20, (rows, 5)), rng.integers(4, 20, (rows, 4))
    # A row without any key attends to nothing.
    enc_outputs, lens = model.encoder(source), tf.constant([3, 0, 5][:rows])
    state = model.decoder.init_state(enc_outputs, lens, 6)
    steps = DecodingSteps(model.decoder, enc_outputs, lens, state[2], tf.constant(target[:, 0]), tf.constant(6))
    buffers = steps.buffers
    for count in range(target.shape[1]):
        expected, state = model.decoder(target[:, count, None], state, training=False)
        found, buffers = steps.logits(tf.constant(target[:, count]), tf.constant(count), buffers)
        np.testing.assert_allclose(found, expected[:, 0], rtol=1e-12, atol=1e-12)


def test_rows_do_not_write_into_the_memory_of_the_call_before(backend):
    """Buffers are written in place; each call has its own, and so has each block."""
    model = backend.build(TransformerConfig(**SIZES), seed=1)
    source = np.random.default_rng(0).integers(4, 20, (4, 5))
    together = backend.greedy(model, source, max_steps=8)
    assert together == [backend.greedy(model, row[None], max_steps=8)[0] for row in source]
    assert together == backend.greedy(model, source, max_steps=8)


@pytest.mark.parametrize("lens", [None, [2, 5, 4]])
def test_a_prompt_comes_before_the_first_step(backend, lens):
    model = backend.build(TransformerConfig(architecture="decoder", **DECODER), seed=3)
    prompt = np.random.default_rng(0).integers(4, 20, (3, 5))
    lens = None if lens is None else np.array(lens)
    found = backend.greedy(model, prompt, lens, 6)
    layers = [hypotheses[0].ids for hypotheses in backend.hypotheses(model, prompt, lens, 6, beam=1)]
    assert found == layers and len(found[0]) > 1
    assert backend.sample(model, prompt, lens, 6, Sampling(top_k=1)) == found


def adapted(model):
    dense = model.decoder.blks[0].ffn.dense2
    dense.enable_lora(2)
    dense.lora_kernel_b.assign(30 * np.random.default_rng(1).normal(size=dense.lora_kernel_b.shape))


def suppressing(model):
    model.config = model.config.replace(suppress_ids=(1, *range(6, 20)))


def ending(model):
    model.config = model.config.replace(eos_id=7, suppress_ids=(0, 1, 2, 3, *range(8, 20)))


def activated(model):
    model.decoder.blks[0].ffn.activation = lambda X: -tf.exp(X)


def swapped(model):
    blocks = model.decoder.blks
    blocks[0].ffn, blocks[1].ffn = blocks[1].ffn, blocks[0].ffn


def by_whole_passes(backend, model, source, steps):
    config, tokens = model.config, np.full((len(source), 1), model.config.start_id)
    for _ in range(steps):
        logits = backend.logits(model, source, tokens)[:, -1].copy()
        logits[:, list(config.suppress_ids)] = -np.inf
        tokens = np.concatenate([tokens, logits.argmax(axis=-1)[:, None]], axis=1)
    rows = tokens[:, 1:].tolist()
    return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]


@pytest.mark.parametrize("change", [adapted, suppressing, ending, activated, swapped])
def test_decoding_follows_a_model_that_somebody_changed(backend, change):
    model = backend.build(TransformerConfig(**SIZES, decoder_num_layers=2), seed=11)
    weights = backend.get_weights(model)
    backend.set_weights(model, {path: array * (4.0 if array.ndim == 2 else 1.0) for path, array in weights.items()})
    source = np.random.default_rng(0).integers(4, 20, (6, 5))

    def decoded():
        hypotheses = [row[0].ids for row in backend.hypotheses(model, source, max_steps=6, beam=1)]
        each = [backend.greedy(model, row[None], max_steps=6)[0] for row in source]
        return backend.greedy(model, source, max_steps=6), each, hypotheses

    before = by_whole_passes(backend, model, source, 6)
    assert decoded() == (before, before, before)
    change(model)
    after = by_whole_passes(backend, model, source, 6)
    assert after != before and decoded() == (after, after, after)


NUMBERS = {
    "eps": lambda block: setattr(block.addnorm1.ln, "eps", 0.5),
    "kind": lambda block: setattr(block.addnorm1.ln, "kind", "rms_norm"),
    "num_heads": lambda block: [setattr(block.attention1, name, 1) for name in ("num_heads", "num_kv_heads")],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_decoding_follows_numbers_that_somebody_changed(backend, name):
    """By the scores, which differ where tokens may not."""
    source, scores = np.random.default_rng(0).integers(4, 20, (2, 5)), {}
    for changed in ("before", "after", "never"):
        model = backend.build(TransformerConfig(**SIZES, decoder_num_layers=1), seed=11)
        for now in (changed == "before", changed == "after"):
            if now:
                NUMBERS[name](model.decoder.blks[0])
            rows = backend.hypotheses(model, source, max_steps=3, beam=2)
            scores[changed] = [row[0].log_probability for row in rows]
    assert scores["after"] == scores["before"] != scores["never"]


@pytest.mark.two_bytes
def test_other_dtypes_go_through_the_layers():
    config = TransformerConfig(**SIZES)
    assert not is_plain(tmb.get_backend("tensorflow", dtype="bfloat16").build(config).decoder)
    mixed = tmb.get_backend("tensorflow").build(config).decoder
    mixed.blks[0].ffn.dense1.dtype_policy = "mixed_bfloat16"
    assert not is_plain(mixed)


def decodes_as_its_layers_do(model):
    backend, source = tmb.get_backend("tensorflow"), np.random.default_rng(0).integers(4, 20, (3, 5))
    hypotheses = [row[0].ids for row in backend.hypotheses(model, source, max_steps=5, beam=1)]
    return not is_plain(model.decoder) and backend.greedy(model, source, max_steps=5) == hypotheses


@pytest.mark.two_bytes
@pytest.mark.parametrize("position", ["sinusoidal", "learned"])
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_a_mixed_policy(policy, position):
    assert decodes_as_its_layers_do(EncoderDecoder.from_config(TransformerConfig(**SIZES, position=position), dtype=policy))


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_tables_that_keras_quantized():
    backend = tmb.get_backend("tensorflow")
    model = backend.build(TransformerConfig(**SIZES), seed=11)
    backend.greedy(model, np.array([[4, 5]]), max_steps=2)
    model.quantize("int8")
    assert model.decoder.embedding.embeddings.dtype == "int8" and decodes_as_its_layers_do(model)
