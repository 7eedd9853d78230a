"""A trainer's own masks are read off as they were, and those that are not drawn each by itself fail."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.stats import binom

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.backends.numpy import trainer as numpy_trainer
from transformer_mb.backends.numpy.dropout import Dropout, injected_dropout
from transformer_mb.dropout_masks import batch_sites, dropout_masks, keep_mask
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.computing.making import batch_of
from transformer_mb.parity.computing.mask_reading import UNREAD, read_masks
from transformer_mb.parity.computing.messages import under
from transformer_mb.parity.rows.one_answer import OPTIONS, PARTS, ROWS, STEPS, OwnDropout
from transformer_mb.parity.verdict.independence import surprises


def found(seed=0, backend=None):
    (experiment,) = OwnDropout.made("float64", seed)
    backend = backend or BACKEND(dtype="float64")
    (result,) = experiment.run("numpy", lambda request: compute(backend, request))
    return result


@pytest.mark.parametrize("seed", range(3))
def test_masks_are_read_off_as_they_were(seed):
    (experiment,) = OwnDropout.made("float64", seed)
    config, arrays, backend = experiment.config, experiment.request.arrays, BACKEND(dtype="float64")
    batches = [batch_of(under(f"batches.{part}", arrays)) for part in range(PARTS)]
    given = [dropout_masks(config, seed, part, ROWS, STEPS, STEPS) for part in range(PARTS)]
    weights, model = under("weights", arrays), backend.create_empty(config)
    backend.set_weights(model, weights)
    backend.trainer(model, **OPTIONS).accumulated_step(batches, given)
    after = backend.get_weights(model)
    gradient = {name: (value - after[name]) / OPTIONS["learning_rate"] for name, value in weights.items()}
    masks = read_masks(config, weights, gradient, batches)
    assert masks.keys() == given[0].keys()
    for site, mask in masks.items():
        read, truth = mask != UNREAD, np.array([each[site] for each in given])
        np.testing.assert_array_equal(mask[read], truth[read])
        assert read.mean() > (0.55 if ".attention1.attention" in site else 0.9)  # which is causal


def test_a_surprise_is_as_rare_as_is_written():
    """P(surprise > x) <= 2 exp(-x), by the exact distribution."""
    for n, p in ((8, 0.9), (60, 0.58), (384, 0.7)):
        counts = np.arange(n + 1)
        surprise = surprises(counts, np.array(n), np.array(p))
        probability = binom.pmf(counts, n, p)
        assert all(probability[surprise >= x].sum() <= 2.0 * np.exp(-x) for x in np.linspace(0.0, 30.0, 61))


@pytest.mark.parametrize("seed", range(2))
def test_numpy_draws_each_mask_by_itself(seed):
    assert found(seed).status == PASSED


def by(key, change=lambda path, mask: mask):
    """Dropout whose masks hang on what ``key`` makes of the seed, the step and the path."""

    @contextmanager
    def seeded(model, seed, step, batch):
        masks = {
            path: change(path, keep_mask(*key(seed, step, path), rate, shape))
            for path, (rate, shape) in batch_sites(model.config, batch).items()
        }
        with injected_dropout(model, masks):
            yield

    return seeded


@contextmanager
def anew(model, seed, step, batch):
    """Each layer's generator begins anew."""
    layers = [layer for _, layer in model.named_layers() if isinstance(layer, Dropout) and layer.p > 0.0]
    for layer in layers:
        layer.generator = np.random.Generator(np.random.SFC64((seed % 2**64, step)))
    yield


def repeated(axis, sites=""):
    """The first mask along an axis for all."""

    def change(path, mask):
        first = np.take(mask, [0], axis)
        return np.broadcast_to(first, mask.shape).copy() if re.search(sites, path) else mask

    return change


def as_it_is(seed, step, path):
    return seed, step, path


MISTAKES = {
    "blocks drop alike": by(lambda seed, step, path: (seed, step, re.sub(r"block\d", "block", path))),
    "layers begin anew": anew,
    "seeds drop alike": by(lambda seed, step, path: (0, step, path)),
    "sides drop alike": by(lambda seed, step, path: (seed, step, path.replace("decoder.dropout", "encoder.dropout"))),
    "rows drop alike": by(as_it_is, repeated(0)),
    "heads drop alike": by(as_it_is, repeated(1, "attention.dropout")),
    "tokens drop alike": by(as_it_is, repeated(1, "addnorm")),
    "one in twenty is kept beside the rate": by(
        as_it_is, lambda path, mask: mask | (np.random.default_rng(0).random(mask.shape) < 0.05)
    ),
}


def test_masks_by_the_seed_the_step_and_the_path_pass(monkeypatch):
    """Else the mistakes below could fail for the way in which they are planted."""
    monkeypatch.setattr(numpy_trainer, "seeded_dropout", by(as_it_is))
    assert found().status == PASSED


@pytest.mark.parametrize("mistake", MISTAKES)
def test_masks_that_hang_together_fail(mistake, monkeypatch):
    monkeypatch.setattr(numpy_trainer, "seeded_dropout", MISTAKES[mistake])
    assert found().status == FAILED


@pytest.mark.parametrize("number", ["part", "step"])
def test_parts_and_steps_that_drop_alike_fail(number, monkeypatch):
    steps = {"part": lambda trainer, part: trainer.step_count, "step": lambda trainer, part: part}
    monkeypatch.setattr(numpy_trainer.NumPyTrainer, "dropout_step", steps[number])
    result = found()
    assert result.status == FAILED and f"{number} 0" in result.reason and f"{number} 1" in result.reason
