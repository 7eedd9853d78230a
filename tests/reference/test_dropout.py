"""Dropout: rates, scaling, seeds, injected masks; and forward passes that remember nothing."""

import threading

import numpy as np
import pytest

from transformer_mb.backends.numpy.dropout import Dropout, injected_dropout
from transformer_mb.backends.numpy.running import no_gradients
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.dropout_masks import batch_sites, drawn_masks, dropout_masks, dropout_sites
from transformer_mb.errors import ShapeError
from transformer_mb.registry import get_backend

CONFIG = TransformerConfig(source_vocab_size=9, target_vocab_size=8, num_hiddens=8, ffn_num_hiddens=6, ffn_dropout=0.3)
BATCH = Batch(
    np.array([[4, 5, 3, 1], [6, 7, 8, 3]]),
    np.array([3, 4]),
    np.array([[2, 4, 5], [2, 6, 1]]),
    np.array([[4, 5, 3], [6, 3, 1]]),
    np.array([3, 2]),
)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rate_and_scale(rate, dtype):
    X = np.ones((300, 1001), dtype)  # an odd number: two draws come from one word
    layer = Dropout(rate)
    Y = layer(X)
    assert Y.dtype == dtype and Y is not X
    values = np.unique(Y)
    np.testing.assert_allclose(values, [0.0, 1.0 / (1.0 - rate)], rtol=1e-6)
    # five standard deviations of a share of 300,300 draws
    assert abs(np.mean(Y == 0.0) - rate) <= 5.0 * np.sqrt(rate * (1.0 - rate) / X.size)
    # neighbours are independent: both dropped with probability rate squared
    both = np.mean((Y[:, 1:] == 0.0) & (Y[:, :-1] == 0.0))
    assert abs(both - rate**2) <= 5.0 * np.sqrt(rate**2 * 3.0 / X.size)
    np.testing.assert_array_equal(layer.backward(X), Y)


def test_nothing_is_dropped_in_evaluation_or_at_rate_0():
    X = np.ones((4, 5))
    for layer in (Dropout(0.5).eval(), Dropout(0.0)):
        assert layer(X) is X
        assert layer.backward(X) is X


def test_injected_masks_are_used_scaled_and_taken_away():
    layer = Dropout(0.75)
    keep = np.array([[True, False], [False, True]])
    with injected_dropout(layer, {"": keep}):
        np.testing.assert_array_equal(layer(np.full((2, 2), 3.0)), [[12.0, 0.0], [0.0, 12.0]])
        np.testing.assert_array_equal(layer.backward(np.ones((2, 2))), [[4.0, 0.0], [0.0, 4.0]])
        with pytest.raises(ShapeError, match=r"The dropout mask and its input .* \[2, 2\] and \[2, 3\]"):
            layer(np.ones((2, 3)))
    assert layer.keep is None


def test_masks_must_fit_the_model():
    backend = get_backend("numpy")
    model = backend.build(CONFIG)
    masks = dropout_masks(CONFIG, 0, 0, 2, 4, 3)
    del masks["encoder.dropout"]
    masks["encoder.blks.block7.dropout"] = np.ones(3, bool)
    with pytest.raises(ShapeError, match=r"missing encoder\.dropout, unexpected encoder\.blks\.block7\.dropout"):
        backend.trainer(model).step(BATCH, masks)


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder"])
def test_sites_and_their_shapes_are_those_of_the_neutral_list(architecture):
    """In training each site, in the order of the forward pass, drops from an array of the listed shape."""
    source = {} if architecture == "decoder" else {"source_vocab_size": 9}
    config = TransformerConfig(
        architecture=architecture, target_vocab_size=8, num_hiddens=8, ffn_num_hiddens=6, ffn_dropout=0.3, **source
    )
    model = get_backend("numpy").build(config).train()
    inputs = (BATCH.source, BATCH.target_in, BATCH.source_valid_lens) if source else (None, BATCH.target_in)
    model(*inputs)
    dropped = {
        path: (layer.p, layer.recall()[0].shape)
        for path, layer in model.named_layers()
        if isinstance(layer, Dropout) and layer.p > 0.0
    }
    assert dropped == dropout_sites(config, 2, 4, 3)


def losses(seed, steps, start=None):
    backend = get_backend("numpy")
    trainer = backend.trainer(backend.build(CONFIG, seed=1), learning_rate=0.01, seed=seed)
    if start is not None:
        backend.set_weights(trainer.model, start[0])
        trainer.load_state_dict(start[1])
    found = [float(trainer.step(BATCH)) for _ in range(steps)]
    return found, (backend.get_weights(trainer.model), trainer.state_dict())


def test_dropout_is_a_function_of_the_seed_and_the_step():
    whole, _ = losses(seed=3, steps=6)
    head, state = losses(seed=3, steps=2)
    np.random.default_rng().random(100)
    tail, _ = losses(seed=3, steps=4, start=state)
    assert head + tail == whole
    assert losses(seed=4, steps=1)[0] != whole[:1]
    assert len(set(losses(seed=-1, steps=2)[0])) == 2


def test_masks_are_of_the_seed_and_the_step_and_not_of_their_sum():
    config, shape = CONFIG.replace(dropout=0.5), (BATCH.target_in.shape[0], BATCH.source.shape[1], BATCH.target_in.shape[1])
    keys = [(seed, step) for seed in range(3) for step in range(3)]
    injected = [dropout_masks(config, *key, *shape) for key in keys]
    own = [drawn_masks(batch_sites(config, BATCH), *key) for key in keys]
    for masks in (injected, own):
        assert len({b"".join(mask.tobytes() for mask in each.values()) for each in masks}) == len(keys)


def test_every_step_drops_anew():
    backend = get_backend("numpy")
    trainer = backend.trainer(backend.build(CONFIG), optimizer="sgd", learning_rate=1e-30)
    assert len({float(trainer.step(BATCH)) for _ in range(5)}) == 5


def test_forward_without_gradients_remembers_nothing_in_its_own_thread_alone():
    layer = get_backend("numpy", dtype="float64").layer("PositionWiseFFN", 3, 4, 3)
    X = np.ones((1, 2, 3))
    with no_gradients():
        expected = layer(X)
        with pytest.raises(RuntimeError, match="outside no_gradients"):
            layer.backward(X)
        found = []
        thread = threading.Thread(target=lambda: found.append((layer(X), layer.backward(X))))
        thread.start()
        thread.join()
    np.testing.assert_array_equal(found[0][0], expected)
    assert found[0][1].shape == X.shape
    layer(X)
    assert layer.backward(X).shape == X.shape
