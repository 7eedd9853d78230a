"""Dropout: how much, of what, when, and whose random numbers."""

from itertools import combinations

import numpy as np
import pytest

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import ShapeError
from transformer_mb.parity.verdict.limits import error


def test_rate_and_scale(backend32):
    """On positions of zeros: what is kept is 1 / (1 - rate) of a constant, and a share 1 - rate is kept."""
    layer = backend32.layer("PositionalEncoding", 50, 0.3)
    X = np.ones((20, 40, 50))
    kept = backend32.apply(layer, X)
    dropped = backend32.apply(layer, X, training=True)
    zeros = dropped == 0.0
    assert abs(zeros.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / X.size) + 1e-3
    np.testing.assert_allclose(dropped[~zeros], kept[~zeros] / 0.7, rtol=1e-5)


def test_evaluation_drops_nothing(backend):
    model = backend.build(ONE_LAYER.replace(dropout=0.5), seed=1)
    plain = backend.build(ONE_LAYER.replace(dropout=0.0), seed=1)
    inputs = np.array([[4, 5, 6]]), np.array([[2, 5]]), np.array([3])
    np.testing.assert_array_equal(backend.logits(model, *inputs), backend.logits(plain, *inputs))


def test_training_drops_anew_each_time(backend32):
    layer = backend32.layer("PositionalEncoding", 50, 0.3)
    X = np.ones((2, 40, 50))
    first, second = (backend32.apply(layer, X, training=True) for _ in range(2))
    assert (first != second).any()


def test_differentiated_in_training_it_drops_anew_each_time_too(backend32):
    """What is dropped has no gradient; the next call draws other numbers, be it of ``gradients`` or of ``apply``."""
    layer, X = backend32.layer("PositionalEncoding", 50, 0.3), np.ones((2, 40, 50))
    evaluated, (everywhere,), _ = backend32.gradients(layer, [X], np.ones_like(X))
    assert (everywhere == 1.0).all()
    kept = []
    for _ in range(2):
        output, (gradient,), _ = backend32.gradients(layer, [X], np.ones_like(X), training=True)
        kept.append(gradient != 0.0)
        np.testing.assert_allclose(gradient[kept[-1]], 1.0 / 0.7, rtol=1e-5)
        np.testing.assert_allclose(output, np.where(kept[-1], evaluated / 0.7, 0.0), rtol=1e-5)
    kept.append(backend32.apply(layer, X, training=True) != 0.0)
    assert is_drawn_apart(np.array(kept), 0.3)


def is_drawn_apart(masks, rate):
    """Of n masks [n, ...]: each keeps its share, and two of them agree as often as independent ones do."""
    flat = masks.reshape(len(masks), -1)
    far = 5.0 * np.sqrt(0.25 / flat.shape[1])  # five standard deviations, or a little more
    shares = flat.mean(axis=1)
    agreeing = [(first == second).mean() for first, second in combinations(flat, 2)]
    wrong = np.abs(shares - (1.0 - rate)).max() > far
    return not wrong and np.abs(np.array(agreeing) - (rate**2 + (1.0 - rate) ** 2)).max() < far


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_each_row_of_a_batch_is_dropped_by_itself(rate, backend32):
    """By a layer in training, of its own random numbers; attention's weights are read off by values that are one-hot."""
    X, even, one_hot = np.ones((4, 20, 30)), np.zeros((4, 20, 30)), np.tile(np.eye(30), (4, 1, 1))
    of_positions = backend32.apply(backend32.layer("PositionalEncoding", 30, rate), X, training=True)
    attention = backend32.layer("DotProductAttention", rate)
    of_weights = backend32.apply(attention, even, np.zeros((4, 30, 30)), one_hot, training=True)
    for dropped in (of_positions, of_weights):
        assert is_drawn_apart(dropped != 0.0, rate)
    np.testing.assert_allclose(of_weights[of_weights != 0.0], 1.0 / 30 / (1.0 - rate), rtol=1e-5)


ROWS, STEPS, WIDTH = 3, 8, 64


def masks_of_a_training(backend, rate, steps=2, parts=2, seed=5):
    """[steps * parts * sides * rows, STEPS, WIDTH]: what a trainer kept of the embeddings, by its own random numbers.

    Every token stands at one place alone. So its vector has no gradient, and stays as it was, where that place was dropped.
    """
    shape = (parts, ROWS, STEPS)
    ids = 4 + np.arange(np.prod(shape)).reshape(shape)
    vocabulary = dict.fromkeys(("source_vocab_size", "target_vocab_size"), 4 + ids.size)
    sizes = {"num_hiddens": WIDTH, "ffn_num_hiddens": 8, "encoder_num_layers": 1, "decoder_num_layers": 1}
    rates = {"dropout": 0.0, "embedding_dropout": rate}
    model = backend.build(TransformerConfig(max_len=STEPS, **vocabulary, **sizes, **rates), seed=0)
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=1.0, seed=seed)
    lens, masks = np.full(ROWS, STEPS), []
    for _ in range(steps):
        before = backend.get_weights(model)
        trainer.accumulated_step([Batch(part, lens, part, part[:, ::-1], lens) for part in ids])
        after = backend.get_weights(model)
        tables = [f"{side}.embedding.weight" for side in ("encoder", "decoder")]
        masks += [(after[name] != before[name])[part] for name in tables for part in ids]
    return np.concatenate(masks)


def test_each_row_part_and_step_of_a_training_is_dropped_by_itself(backend):
    masks = masks_of_a_training(backend, 0.2)
    assert len(masks) == 2 * 2 * 2 * ROWS and is_drawn_apart(masks, 0.2)


def test_what_a_training_keeps_is_scaled(backend, reference):
    """The loss is the reference's with the masks that the trainer drew, read off as above."""
    rate, tokens = 0.3, 4 + np.arange(ROWS * STEPS).reshape(ROWS, STEPS)
    vocabulary = dict.fromkeys(("source_vocab_size", "target_vocab_size"), 4 + tokens.size)
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 8, "encoder_num_layers": 1, "decoder_num_layers": 1, "max_len": STEPS}
    config = TransformerConfig(**vocabulary, **sizes, dropout=0.0, embedding_dropout=rate)
    model, lens = backend.build(config, seed=0), np.full(ROWS, STEPS)
    batch = Batch(tokens, lens, tokens, tokens[:, ::-1], lens)
    before = backend.get_weights(model)
    loss = float(backend.trainer(model, optimizer="sgd", learning_rate=1.0, seed=5).step(batch))
    after = backend.get_weights(model)
    moved = {side: after[name] != before[name] for side in ("encoder", "decoder") for name in [f"{side}.embedding.weight"]}
    masks = {f"{side}.dropout": rows[tokens] for side, rows in moved.items()}
    expected, _ = reference.loss_and_gradients(reference.build(config, seed=0), batch, dropout_masks=masks)
    assert all(0.5 < mask.mean() < 0.9 for mask in masks.values())
    np.testing.assert_allclose(loss, expected, rtol=1e-10)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_each_head_of_a_training_is_dropped_by_itself(rate, backend):
    """Two heads of equal weights learn the same, unless other attention weights of theirs are dropped."""
    config = ONE_LAYER.replace(dropout=0.0, attention_dropout=rate)
    heads, half = config.encoder_num_heads, config.num_hiddens // config.encoder_num_heads
    model = backend.build(config, seed=1)

    def by_head(weights):
        """Of each attention its output's weights [out, H, D/H]."""
        return {name: each.reshape(len(each), heads, half) for name, each in weights.items() if name.endswith("W_o.weight")}

    weights = backend.get_weights(model)
    for name, each in weights.items():
        if name.endswith(("W_q.weight", "W_k.weight", "W_v.weight")):
            weights[name] = np.tile(each[:half], (heads, 1))
        elif name.endswith("W_o.weight"):
            weights[name] = np.tile(each[:, :half], (1, heads))
    backend.set_weights(model, weights)
    rng, lens = np.random.default_rng(0), np.full(ROWS, STEPS)
    source, target_in, target_out = rng.integers(4, 10, (3, ROWS, STEPS))
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=1.0, seed=5)
    trainer.step(Batch(source, lens, target_in, target_out, lens))
    before, after = by_head(weights), by_head(backend.get_weights(model))
    assert len(after) >= 3
    for name, each in after.items():
        change = each - before[name]
        apart = np.abs(change[:, 1:] - change[:, :1]).max() / np.abs(change).max()
        assert apart > 1e-3 if rate else apart < 1e-10


def test_a_large_or_negative_seed_is_none_of_the_small_ones(backend):
    masks = [masks_of_a_training(backend, 0.2, 1, 1, seed) for seed in (0, 2**32, 2**53 - 1, -1)]
    assert is_drawn_apart(np.concatenate(masks), 0.2)


INJECTED = {
    "AddNorm": (([6], 0.5), [(2, 3, 6), (2, 3, 6)], {"dropout": (2, 3, 6)}),
    "PositionWiseFFN": ((6, 7, 5), [(2, 3, 6)], {"dropout": (2, 3, 7)}),
    "PositionalEncoding": ((6, 0.5), [(2, 3, 6)], {"dropout": (2, 3, 6)}),
    "DotProductAttention": ((0.5,), [(2, 3, 6)] * 3, {"dropout": (2, 3, 3)}),
    "MultiHeadAttention": ((6, 6, 6, 6, 2, 0.5), [(2, 3, 6)] * 3, {"attention.dropout": (2, 2, 3, 3)}),
}


@pytest.mark.parametrize("name", INJECTED)
def test_injected_masks(name, backend, reference, rng):
    from transformer_mb.parity.rows.drawn_values import random_weights

    arguments, shapes, sites = INJECTED[name]
    options = {"dropout": 0.5} if name == "PositionWiseFFN" else {}
    inputs = [rng.standard_normal(shape) for shape in shapes]
    masks = {path: rng.random(shape) < 0.5 for path, shape in sites.items()}
    outputs = []
    for each in (backend, reference):
        layer = each.layer(name, *arguments, **options)
        each.set_weights(layer, random_weights(each.parameter_shapes(layer)))
        outputs.append(each.apply(layer, *inputs, training=True, dropout_masks=masks))
        outputs.append(each.apply(layer, *inputs, training=True, dropout_masks={p: ~m for p, m in masks.items()}))
    assert error(outputs[0], outputs[2]) <= 1e-12 and error(outputs[1], outputs[3]) <= 1e-12
    assert error(outputs[0], outputs[1]) > 1e-3


def test_an_injected_mask_drops_what_it_says(backend, rng):
    layer = backend.layer("PositionalEncoding", 6, 0.25)
    X, mask = rng.standard_normal((2, 3, 6)), rng.random((2, 3, 6)) < 0.75
    dropped = backend.apply(layer, X, training=True, dropout_masks={"dropout": mask})
    np.testing.assert_allclose(dropped, np.where(mask, backend.apply(layer, X) / 0.75, 0.0), atol=1e-15)


@pytest.mark.parametrize(
    "masks", [{}, {"dropout": np.ones((2, 3, 6), bool), "other": np.ones(1, bool)}], ids=["missing", "unexpected"]
)
def test_masks_that_do_not_fit_are_refused(masks, backend):
    layer = backend.layer("PositionalEncoding", 6, 0.25)
    with pytest.raises(ShapeError, match="missing dropout|unexpected other"):
        backend.apply(layer, np.ones((2, 3, 6)), training=True, dropout_masks=masks)
