"""The gradients of whole NumPy models, derived by hand, against central differences."""

import numpy as np
import pytest
from reference.test_gradients import (
    BACKEND,
    LABELS,
    SOURCE,
    SOURCE_LENS,
    TARGET,
    TARGET_LENS,
    B,
    D,
    F,
    H,
    S,
    T,
    assert_equal_gradients,
    difference,
    randomise,
)

from transformer_mb.backends.numpy.dropout import injected_dropout
from transformer_mb.backends.numpy.running import no_gradients
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.dropout_masks import dropout_masks

TINY = {
    "source_vocab_size": 7,
    "target_vocab_size": 6,
    "num_hiddens": D,
    "ffn_num_hiddens": F,
    "encoder_num_heads": H,
    "decoder_num_heads": H,
    "encoder_num_layers": 1,
    "decoder_num_layers": 1,
    "max_len": 6,
}
ONE_TABLE = {**TINY, "source_vocab_size": 6, "share_embeddings": True, "tie_output": True}
MODELS = {
    "post-norm": {**TINY, "decoder_num_layers": 2},
    "pre-norm, final norm, biases": {
        **TINY,
        "norm_position": "pre",
        "final_norm": True,
        "encoder_attention_bias": True,
        "decoder_attention_bias": True,
    },
    "std norm, gelu": {**TINY, "norm_kind": "std_norm", "norm_eps": 1e-6, "activation": "gelu"},
    "rms norm, pre-norm": {**TINY, "norm_kind": "rms_norm", "norm_position": "pre", "final_norm": True},
    "heads of five numbers, not scaled": {**TINY, "head_size": 5, "attention_scale": False, "output_scale": True},
    "fewer heads of keys": {**TINY, "head_size": 3, "num_kv_heads": 1, "decoder_attention_bias": True},
    "tokens normed": {**TINY, "embedding_norm": True, "decoder_embedding_norm": "tokens", "position": "learned"},
    "relative positions": {**TINY, "position": "relative", "relative_buckets": 4, "relative_max_distance": 3},
    "silu, gated": {**TINY, "activation": "silu", "ffn_gated": True, "ffn_bias": False},
    "gelu_tanh, halves": {**TINY, "activation": "gelu_tanh", "sinusoid_layout": "halves", "norm_affine": False},
    "silu, learned positions": {
        **TINY,
        "activation": "silu",
        "position": "learned",
        "position_offset": 1,
        "embedding_norm": True,
    },
    "shared and tied": {**ONE_TABLE, "output_bias": False, "embedding_scale": False},
    "decoder alone": {
        **{key: value for key, value in TINY.items() if key != "source_vocab_size"},
        "architecture": "decoder",
        "decoder_num_layers": 2,
        "norm_position": "pre",
    },
}


def model_gradients(fields, with_dropout):
    """Gradients of the loss by backward and by differences."""
    config = TransformerConfig(**fields, dropout=0.3, attention_dropout=0.2, embedding_dropout=0.4, ffn_dropout=0.25)
    model = BACKEND.create_empty(config)
    randomise(model, np.random.default_rng(2))
    source = (SOURCE, SOURCE_LENS) if config.has_encoder else (None, None)
    masks = dropout_masks(config, 1, 1, B, S, T) if with_dropout else None

    def loss():
        model.train(with_dropout)
        with no_gradients(), injected_dropout(model, masks):
            logits, _ = model(source[0], TARGET, source[1])
            return float(smoothed(logits, LABELS, TARGET_LENS).sum())

    smoothed = BACKEND.layer("MaskedSoftmaxCELoss", label_smoothing=0.1)
    expected = {name: difference(loss, parameter.value) for name, parameter in model.named_parameters()}
    batch = Batch(*source, TARGET, LABELS, TARGET_LENS)
    value, got = BACKEND.loss_and_gradients(model, batch, label_smoothing=0.1, dropout_masks=masks)
    assert value == loss()
    return config, got, expected


@pytest.mark.long(but=6)
@pytest.mark.parametrize("with_dropout", [False, True], ids=["evaluation", "dropout masks"])
@pytest.mark.parametrize("name", MODELS)
def test_model(name, with_dropout):
    _, got, expected = model_gradients(MODELS[name], with_dropout)
    assert_equal_gradients(got, expected)


def test_the_padding_vector_gets_no_gradient_from_either_use_of_its_table():
    config, got, expected = model_gradients({**ONE_TABLE, "padding_vector_zero": True}, False)
    table = expected["encoder.embedding.weight"]
    assert np.abs(table[config.pad_id]).max() > 0.0  # it would have one
    table[config.pad_id] = 0.0
    assert_equal_gradients(got, expected)
    np.testing.assert_array_equal(got["encoder.embedding.weight"][config.pad_id], 0.0)


def test_encoder_alone_with_types_embedding_norm_and_pooler():
    config = TransformerConfig(
        architecture="encoder",
        source_vocab_size=7,
        num_hiddens=D,
        ffn_num_hiddens=F,
        encoder_num_heads=H,
        encoder_num_layers=1,
        max_len=6,
        position="learned",
        embedding_norm=True,
        embedding_scale=False,
        token_types=2,
        pooler=True,
        activation="gelu",
        encoder_attention_bias=True,
    )
    rng = np.random.default_rng(4)
    model = BACKEND.create_empty(config).eval()
    randomise(model, rng)
    cotangent = rng.standard_normal((B, D))
    for types in (None, np.array([[0, 0, 1, 1], [0, 1, 1, 1]])):

        def function(types=types):
            return float(np.vdot(model.pooler(model.encoder(SOURCE, SOURCE_LENS, token_types=types)), cotangent))

        expected = {name: difference(function, parameter.value) for name, parameter in model.named_parameters()}
        model.zero_gradients()
        function()
        model.encoder.backward(model.pooler.backward(cotangent))
        assert_equal_gradients({name: parameter.gradient for name, parameter in model.named_parameters()}, expected)


def test_a_difference_sees_a_wrong_gradient():
    """The check can fail: one coordinate of one gradient, changed by a hundred-thousandth of its whole."""
    _, got, expected = model_gradients(MODELS["decoder alone"], False)
    table = got["decoder.dense.weight"]
    table[1, 2] += 1e-5 * np.linalg.norm(table)
    with pytest.raises(AssertionError, match=r"decoder\.dense\.weight"):
        assert_equal_gradients(got, expected)
