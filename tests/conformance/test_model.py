"""Whole models against the oracle, over configurations that use every switch."""

import numpy as np
import pytest

from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, DECODER, ENCODER
from transformer_mb.parity.rows.weights import random_weights
from transformer_mb.parity.verdict.measure import error, gradient_errors

each_config = pytest.mark.parametrize("name", CONFIGS)


def model_pair(config, backend, oracle):
    weights = random_weights(parameter_shapes(config))
    if config.padding_vector_zero:
        for name in ("encoder.embedding.weight", "decoder.embedding.weight"):
            if name in weights:
                weights[name][config.pad_id] = 0.0
    models = backend.create(config), oracle.create(config)
    backend.set_weights(models[0], weights)
    oracle.set_weights(models[1], weights)
    return models


@each_config
def test_parameters_are_the_canonical_ones(name, backend):
    shapes = parameter_shapes(CONFIGS[name])
    model = backend.create(CONFIGS[name])
    assert {k: tuple(v) for k, v in backend.parameter_shapes(model).items()} == shapes
    backend.set_weights(model, random_weights(shapes))
    weights = backend.get_weights(model)
    assert set(weights) == set(shapes)
    for key, value in random_weights(shapes).items():
        if not (CONFIGS[name].padding_vector_zero and "embedding" in key):
            np.testing.assert_array_equal(weights[key], value)


@each_config
def test_logits(name, backend, oracle):
    inputs = (BATCH["source"], BATCH["source_valid_lens"], BATCH["target_in"])
    model, reference = model_pair(CONFIGS[name], backend, oracle)
    got = backend.logits(model, *inputs)
    assert got.dtype == np.float64 and got.shape == (3, 4, 13)
    assert error(got, oracle.logits(reference, *inputs)) <= 1e-11


@each_config
def test_loss_and_gradients(name, backend, oracle):
    config = CONFIGS[name]
    model, reference = model_pair(config, backend, oracle)
    loss, gradients = backend.loss_and_gradients(model, **BATCH, normalization="tokens", label_smoothing=0.1)
    expected_loss, expected = oracle.loss_and_gradients(reference, **BATCH, normalization="tokens", label_smoothing=0.1)
    assert loss == pytest.approx(expected_loss, rel=1e-11)
    assert gradient_errors(gradients, expected) <= 1e-10
    # W_k's bias shifts every score of a row alike, and the softmax does not see it.
    silent = [key for key, value in gradients.items() if not np.abs(value).max() > 0.0 and "W_k.bias" not in key]
    assert silent == []


@each_config
def test_loss_and_gradients_with_dropout(name, backend, oracle):
    config = CONFIGS[name]
    model, reference = model_pair(config, backend, oracle)
    masks = dropout_masks(config, seed=3, step=5, batch=3, source_steps=5, target_steps=4)
    loss, gradients = backend.loss_and_gradients(model, **BATCH, dropout_masks=masks)
    expected_loss, expected = oracle.loss_and_gradients(reference, **BATCH, dropout_masks=masks)
    undropped, _ = backend.loss_and_gradients(model, **BATCH)
    assert loss == pytest.approx(expected_loss, rel=1e-11) and abs(loss - undropped) > 1e-3
    assert gradient_errors(gradients, expected) <= 1e-10


def test_the_pad_row_gets_no_gradient(backend, oracle):
    config = CONFIGS["shared and tied, padding"].replace(tie_output=False)
    model, _ = model_pair(config, backend, oracle)
    _, gradients = backend.loss_and_gradients(model, **BATCH)
    gradient = gradients["encoder.embedding.weight"]
    np.testing.assert_array_equal(gradient[config.pad_id], 0.0)
    assert np.abs(gradient).max() > 0.0


def test_encoder_alone(backend, oracle):
    model, reference = model_pair(ENCODER, backend, oracle)
    inputs = BATCH["source"], BATCH["source_valid_lens"], np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 0]])
    got = backend.encode(model, *inputs)
    assert error(got, oracle.encode(reference, *inputs)) <= 1e-11
    assert error(backend.encode(model, *inputs[:2]), got) > 1e-3  # token types matter


def test_pooler(backend, oracle):
    model, _ = model_pair(ENCODER, backend, oracle)
    states = backend.encode(model, BATCH["source"], BATCH["source_valid_lens"])
    weights = backend.get_weights(model)
    by_hand = np.tanh(states[:, 0] @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    assert error(backend.apply(model.pooler, states), by_hand) <= 1e-12


def test_decoder_alone(backend, oracle):
    model, reference = model_pair(DECODER, backend, oracle)
    got = backend.logits(model, None, None, BATCH["target_in"])
    assert error(got, oracle.logits(reference, None, None, BATCH["target_in"])) <= 1e-11
    batch = {**BATCH, "source": None, "source_valid_lens": None}
    _, gradients = backend.loss_and_gradients(model, **batch)
    _, expected = oracle.loss_and_gradients(reference, **batch)
    assert gradient_errors(gradients, expected) <= 1e-10


def test_float32_model(backend32, oracle):
    model, reference = model_pair(CONFIGS["d2l"], backend32, oracle)
    inputs = (BATCH["source"], BATCH["source_valid_lens"], BATCH["target_in"])
    got = backend32.logits(model, *inputs)
    assert got.dtype == np.float32
    assert 0.0 < error(got, oracle.logits(reference, *inputs)) <= 1e-5


def test_the_same_seed_gives_the_same_model(backend, oracle):
    built, again, other = (backend.get_weights(backend.build(CONFIGS["d2l"], seed)) for seed in (4, 4, 5))
    expected = oracle.get_weights(oracle.build(CONFIGS["d2l"], 4))
    for name in expected:
        np.testing.assert_array_equal(built[name], expected[name])
        np.testing.assert_array_equal(again[name], expected[name])
    assert any((other[name] != built[name]).any() for name in built)


def test_every_dtype_runs_and_is_near(backend, backend_name, oracle):
    from transformer_mb.registry import get_backend

    _, reference = model_pair(CONFIGS["d2l"], oracle, oracle)
    inputs = (BATCH["source"], BATCH["source_valid_lens"], BATCH["target_in"])
    expected = oracle.logits(reference, *inputs)
    limits = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-1}
    assert {"float32", "float64"} <= set(backend.dtypes) <= set(limits)
    for dtype in backend.dtypes:
        other = get_backend(backend_name, dtype=dtype)
        model, _ = model_pair(CONFIGS["d2l"], other, oracle)
        got = other.logits(model, *inputs)
        assert error(got, expected) <= limits[dtype], dtype
        _, gradients = other.loss_and_gradients(model, **BATCH)
        assert all(np.isfinite(value).all() for value in gradients.values()), dtype
