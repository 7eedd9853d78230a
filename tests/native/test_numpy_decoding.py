"""Decoding past the layers gives what the layers give, and is left where somebody watches or replaces them."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.backends.numpy import MultiHeadAttention, decoding
from transformer_mb.backends.numpy.backend import NumPyBackend
from transformer_mb.backends.numpy.shortcuts.prepared_layers import is_plain
from transformer_mb.decoding.inputs import decoding_inputs

SIZES = {
    "source_vocab_size": 11, "target_vocab_size": 13, "num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2,
    "decoder_num_heads": 2, "encoder_num_layers": 2, "decoder_num_layers": 2, "max_len": 16,
}  # fmt: skip
BIASES = dict.fromkeys(("encoder_attention_bias", "decoder_attention_bias", "ffn_bias", "output_bias"), True)
CONFIGURATIONS = {
    "d2l": {"compat_decode": "d2l"},
    "pre-norm": {"norm_position": "pre", "final_norm": True, **BIASES, "activation": "silu"},
    "rms": {"norm_kind": "rms_norm", "position": "learned", "position_offset": 2, "activation": "gelu"},
    "no affine": {"norm_affine": False, "embedding_norm": True, "embedding_scale": False},
    "wide": {
        "num_hiddens": 160,
        "ffn_num_hiddens": 200,
        **BIASES,
    },  # weights that are neither joined nor multiplied as they come
    "decoder": {"architecture": "decoder", "source_vocab_size": None},
    "suppressing": {"suppress_ids": (5, 6)},
}
SOURCE, LENGTHS = np.random.default_rng(0).integers(4, 11, (3, 6)), np.array([4, 0, 5])


def logits_of(backend, model, beam, tokens, reordered):
    """Of steps with given tokens [steps, B * beam], the rows reordered after each."""
    prompt = np.maximum(LENGTHS, 1) if model.encoder is None else LENGTHS
    inputs, _ = decoding_inputs(model.config, SOURCE, prompt, 8, None, "beam")
    decoder = decoding.BeamDecoder(model, inputs, 8, beam)
    found = []
    for step in tokens:
        found.append(decoder._logits(step).copy())
        decoder.reorder(reordered)
    return np.array(found), decoder.steps is not None


@pytest.mark.parametrize("beam", [1, 2])
@pytest.mark.parametrize("larger", [1.0, 50.0])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_steps_give_what_the_layers_give(name, larger, beam, monkeypatch):
    """Also where scores are so large that a softmax needs its shift, of a source without a token, and of prompts."""
    backend = tmb.get_backend("numpy", dtype="float64")
    model = backend.build(tmb.TransformerConfig(**{**SIZES, **CONFIGURATIONS[name]})).eval()
    rng = np.random.default_rng(1)
    for path, parameter in model.named_parameters():
        parameter.value += 0.3 * rng.standard_normal(parameter.value.shape)
        if "W_q" in path:
            parameter.value *= larger
    tokens = rng.integers(4, 13, (5, 3 * beam))
    reordered = (np.arange(3)[:, None] * beam + rng.integers(0, beam, (3, beam))).reshape(-1)
    found, plain = logits_of(backend, model, beam, tokens, reordered)
    monkeypatch.setattr(decoding, "is_plain", lambda layer: False)
    expected, through_layers = logits_of(backend, model, beam, tokens, reordered)
    assert plain and not through_layers
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def watch_forward(model, seen):
    layer = model.decoder.blks.block0.ffn
    forward = layer.forward
    layer.forward = lambda X: seen.append(1) or forward(X)


def watch_by_subclass(model, seen):
    class Watched(MultiHeadAttention):
        def attend(self, *inputs, **options):
            seen.append(1)
            return super().attend(*inputs, **options)

    model.decoder.blks.block1.attention2.__class__ = Watched


def watch_encoder(model, seen):
    layer = model.encoder.blks.block1.addnorm2.ln
    forward = layer.forward
    layer.forward = lambda X: seen.append(1) or forward(X)


@pytest.mark.parametrize("watch", [watch_forward, watch_by_subclass, watch_encoder])
def test_watched_layers_are_obeyed(watch):
    backend = tmb.get_backend("numpy")
    model = backend.build(tmb.TransformerConfig(**SIZES)).eval()
    expected, seen = backend.greedy(model, SOURCE, max_steps=6), []
    watch(model, seen)
    assert backend.greedy(model, SOURCE, max_steps=6) == expected and seen


def test_what_rounds_goes_through_its_layers():
    config = tmb.TransformerConfig(**SIZES)
    assert is_plain(tmb.get_backend("numpy").build(config).decoder)
    for format_name in ("bfloat16", "float16"):
        assert not is_plain(NumPyBackend(rounded_to=format_name).build(config).decoder)
    assert not is_plain(tmb.get_backend("numpy").quantized(tmb.get_backend("numpy").build(config)).decoder)
    assert not is_plain(NumPyBackend().DecoderBlock(8, 8, 8, 8, [4, 8], 8, 8, 2, 0.0, 0))


def test_a_model_in_training_is_decoded_in_evaluation():
    backend = tmb.get_backend("numpy")
    model = backend.build(tmb.TransformerConfig(**SIZES, dropout=0.9))
    expected = backend.greedy(model.eval(), SOURCE, LENGTHS, 6)
    assert backend.greedy(model.train(), SOURCE, LENGTHS, 6) == expected and model.training
