"""Dropout: how much, of what, when, and whose random numbers."""

import numpy as np
import pytest

from transformer_mb.errors import ShapeError
from transformer_mb.parity.rows.model_cases import CONFIGS
from transformer_mb.parity.verdict.measure import error


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
    model = backend.build(CONFIGS["d2l"].replace(dropout=0.5), seed=1)
    plain = backend.build(CONFIGS["d2l"].replace(dropout=0.0), seed=1)
    inputs = np.array([[4, 5, 6]]), np.array([[2, 5]]), np.array([3])
    np.testing.assert_array_equal(backend.logits(model, *inputs), backend.logits(plain, *inputs))


def test_training_drops_anew_each_time(backend32):
    layer = backend32.layer("PositionalEncoding", 50, 0.3)
    X = np.ones((2, 40, 50))
    first, second = (backend32.apply(layer, X, training=True) for _ in range(2))
    assert (first != second).any()


INJECTED = {
    "AddNorm": (([6], 0.5), [(2, 3, 6), (2, 3, 6)], {"dropout": (2, 3, 6)}),
    "PositionWiseFFN": ((6, 7, 5), [(2, 3, 6)], {"dropout": (2, 3, 7)}),
    "PositionalEncoding": ((6, 0.5), [(2, 3, 6)], {"dropout": (2, 3, 6)}),
    "DotProductAttention": ((0.5,), [(2, 3, 6)] * 3, {"dropout": (2, 3, 3)}),
    "MultiHeadAttention": ((6, 6, 6, 6, 2, 0.5), [(2, 3, 6)] * 3, {"attention.dropout": (2, 2, 3, 3)}),
}


@pytest.mark.parametrize("name", INJECTED)
def test_injected_masks(name, backend, reference, rng):
    from transformer_mb.parity.rows.weights import random_weights

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
