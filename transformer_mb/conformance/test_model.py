"""Whole models: their parameters, their weights, and what the matrix's comparisons do not say of them."""

import numpy as np
import pytest

from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import model_weights, random_weights
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, ENCODER
from transformer_mb.parity.verdict.limits import error


def with_weights(config, backend):
    model = backend.create_empty(config)
    backend.set_weights(model, model_weights(config))
    return model


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_are_the_canonical_ones(name, backend):
    shapes = parameter_shapes(CONFIGS[name])
    model = backend.create_empty(CONFIGS[name])
    assert {k: tuple(v) for k, v in backend.parameter_shapes(model).items()} == shapes
    backend.set_weights(model, random_weights(shapes))
    weights = backend.get_weights(model)
    assert set(weights) == set(shapes)
    for key, value in random_weights(shapes).items():
        if not (CONFIGS[name].padding_vector_zero and "embedding" in key):
            np.testing.assert_array_equal(weights[key], value)


def aligned(array):
    """A copy that begins at a multiple of 64 bytes, whose memory a framework may take for its own."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    held = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    held[...] = array
    return held


def test_weights_are_copied_to_the_model_and_from_it(backend):
    """What either side does with them afterwards is its own business."""
    model, before = backend.create_empty(ONE_LAYER), model_weights(ONE_LAYER)
    given = {name: aligned(array) for name, array in before.items()}
    backend.set_weights(model, given)
    taken = backend.get_weights(model)
    backend.trainer(model, optimizer="adam", learning_rate=0.1).step(THE_BATCH)
    for name, array in before.items():
        np.testing.assert_array_equal(given[name], array)
        np.testing.assert_array_equal(taken[name], array)
    backend.set_weights(model, given)
    for array in given.values():
        array.fill(0.0)
    for name, array in backend.get_weights(model).items():
        np.testing.assert_array_equal(array, before[name])


def test_the_pad_row_gets_no_gradient(backend):
    config = CONFIGS["shared and tied, padding"].replace(tie_output=False)
    _, gradients = backend.loss_and_gradients(with_weights(config, backend), THE_BATCH)
    gradient = gradients["encoder.embedding.weight"]
    np.testing.assert_array_equal(gradient[config.pad_id], 0.0)
    assert np.abs(gradient).max() > 0.0


def test_the_pad_row_of_a_new_layer_is_zero(backend):
    """The layer is as its framework makes it: nothing has set its weights."""
    encoder = backend.TransformerEncoder(9, 8, 8, 8, 8, [8], 8, 12, 2, 1, 0.0, padding_id=2)
    table = backend.get_weights(encoder)["embedding.weight"]
    assert np.abs(table[1]).max() > 0.0
    np.testing.assert_array_equal(table[2], 0.0)


def test_pooler_and_token_types(backend):
    model = with_weights(ENCODER, backend)
    source, lens, types = (
        BATCH["source"],
        BATCH["source_valid_lens"],
        np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 0]]),
    )
    states = backend.encode(model, source, lens, types)
    assert error(backend.encode(model, source, lens), states) > 1e-3  # token types matter
    weights = backend.get_weights(model)
    by_hand = np.tanh(states[:, 0] @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    assert error(backend.apply(model.pooler, states), by_hand) <= 1e-12


def test_the_same_seed_gives_the_same_model(backend, reference):
    built, again, other = (backend.get_weights(backend.build(CONFIGS["d2l"], seed)) for seed in (4, 4, 5))
    expected = reference.get_weights(reference.build(CONFIGS["d2l"], 4))
    for name in expected:
        np.testing.assert_array_equal(built[name], expected[name])
        np.testing.assert_array_equal(again[name], expected[name])
    assert any((other[name] != built[name]).any() for name in built)


def test_the_arrays_given_stay_the_callers(backend):
    """No backend writes into what it is given, nor keeps its memory, nor gives its own away."""
    model = backend.build(ONE_LAYER, seed=1)
    given = {name: np.array(BATCH[name]) for name in ("source", "target_in", "source_valid_lens")}
    X, valid_lens = np.ones((2, 3, 6)), np.array([2, 3])
    logits = backend.logits(model, *given.values())
    backend.greedy(model, given["source"], given["source_valid_lens"], 3)
    backend.apply(backend.layer("DotProductAttention", 0.0), X, X, X, valid_lens)
    expected = logits.copy()
    for array, before in (*((array, BATCH[name]) for name, array in given.items()), (X, np.ones_like(X)), (valid_lens, [2, 3])):
        np.testing.assert_array_equal(array, before)
        array[...] = 1  # an error where a framework has locked it
    logits[...] = 0.0
    np.testing.assert_array_equal(backend.logits(model, *(BATCH[name] for name in given)), expected)
