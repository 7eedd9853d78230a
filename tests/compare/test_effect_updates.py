"""Optimizers with every switch that frameworks set differently: each held by its formula."""

import math

import numpy as np
import pytest

from transformer_mb import get_backend
from transformer_mb.compare.training.arms import UpdateOptions, Updates, clipped, corpus
from transformer_mb.compare.training.statistics import moved
from transformer_mb.errors import ConfigError
from transformer_mb.random_streams import stream

ONE = {"w": np.array([2.0])}
FREE = {"clip_norm": None}


@pytest.mark.parametrize(
    "same",
    [
        {"optimizer": "adam", "eps": 1e-8},
        {"optimizer": "adam", "eps": 1e-3, "clip_norm": None},
        {"optimizer": "sgd", "momentum": 0.9},
    ],
)
def test_without_a_swap_it_is_the_trainers_optimizer(same):
    backend = get_backend("numpy", dtype="float64")
    model = backend.build(corpus().config)
    options = {"clip_norm": 1.0, "learning_rate": 0.01, **same}
    trainer, updates = backend.trainer(model, **options), Updates(UpdateOptions(**options), backend.get_weights(model))
    for step in range(5):
        gradients = {name: stream(step, name).normal(0.0, 1e-3, value.shape) for name, value in updates.weights.items()}
        trainer.learning_rate = 0.01 * (step + 1)
        trainer.update(gradients)
        updates.step(gradients, 0.01 * (step + 1))
    for name, value in backend.get_weights(model).items():
        np.testing.assert_allclose(updates.weights[name], value, rtol=1e-12, atol=1e-15)


def first_step(gradient, **options):
    """The first move of a weight, as a share of the learning rate."""
    updates = Updates(UpdateOptions(**FREE, **options), ONE)
    updates.step({"w": np.array([gradient])}, 1e-3)
    return float((ONE["w"] - updates.weights["w"])[0] / 1e-3)


def test_where_epsilon_is_added_decides_a_small_gradients_step():
    """At |g| = 1e-7: g / (g + eps), against g / (g + eps / sqrt(1 - beta2)), which is a thirtieth with Keras' epsilon."""
    left = math.sqrt(1.0 - 0.999)
    for eps, place, known in ((1e-8, "corrected", 0.909), (1e-8, "raw", 0.240), (1e-7, "raw", 0.031)):
        share = first_step(1e-7, eps=eps, eps_in=place)
        assert share == pytest.approx(known, abs=5e-4)
        assert share == pytest.approx(1e-7 / (1e-7 + eps / (left if place == "raw" else 1.0)), rel=1e-8)
    assert first_step(1.0, eps_in="raw") == pytest.approx(first_step(1.0), abs=1e-6)


def test_decay_is_of_the_weight_or_of_the_gradient():
    """Of a zero gradient: learning rate * decay * weight, or a whole step of Adam, whose size says nothing of the decay."""
    assert first_step(0.0, weight_decay=0.01) == pytest.approx(0.01 * 2.0, rel=1e-9)
    assert first_step(0.0, weight_decay=0.01, decay="gradient") == pytest.approx(1.0, rel=1e-6)
    assert first_step(0.0) == 0.0


def test_a_velocity_sums_gradients_or_steps():
    ends = {}
    for velocity in ("gradients", "steps"):
        updates = Updates(UpdateOptions(**FREE, optimizer="sgd", momentum=0.5, velocity=velocity), {"w": np.zeros(1)})
        for learning_rate in (1.0, 0.1):
            updates.step({"w": np.ones(1)}, learning_rate)
        ends[velocity] = -float(updates.weights["w"][0])
    assert ends == pytest.approx({"gradients": 1.0 + 0.1 * 1.5, "steps": 1.0 + (0.5 * 1.0 + 0.1)})


def test_gradients_are_clipped_together_or_each():
    gradients = {"a": np.array([3.0, 4.0]), "b": np.array([0.5])}
    both = clipped(gradients, UpdateOptions(clip="together"))
    np.testing.assert_allclose(np.concatenate([*both.values()]), np.array([3.0, 4.0, 0.5]) / math.sqrt(25.25))
    each = clipped(gradients, UpdateOptions(clip="each"))
    np.testing.assert_allclose(np.concatenate([*each.values()]), [0.6, 0.8, 0.5])
    assert clipped(gradients, UpdateOptions(clip_eps=1.0))["b"] == pytest.approx(0.5 / (math.sqrt(25.25) + 1.0))
    assert (
        clipped(gradients, UpdateOptions(clip_norm=9.0))["a"] is not None
        and clipped(gradients, UpdateOptions(**FREE)) is gradients
    )


def test_the_interval_is_students():
    """Differences 0.5, 0.5, 0.5 and 0.7: mean 0.55, deviation 0.1; t of three degrees is 3.182446."""
    found = moved([1.0, 2.0, 3.0, 4.0], [1.5, 2.5, 3.5, 4.7])
    unit = math.sqrt(5.0 / 3.0)
    assert found.deviation == pytest.approx(unit) and found.mean == pytest.approx(0.55 / unit) and found.low > 0.0
    assert (found.high - found.low) / 2 == pytest.approx(3.182446 * 0.1 / 2 / unit, rel=1e-6)


def test_of_swaps_that_do_nothing_one_in_twenty_leaves_zero_out():
    drawn = stream("intervals").normal(0.0, 1.0, (1000, 2, 8))
    intervals = [moved([*base], [*swapped]) for base, swapped in drawn]
    false_alarms = sum(one.low > 0.0 or one.high < 0.0 for one in intervals)
    assert 30 <= false_alarms <= 70
    assert moved([1.0, 2.0], [1.0, 2.0]).mean == 0.0


def test_without_scipy_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.stats", None)
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(ConfigError, match="Intervals and tests need scipy, which is not installed. Install it with: pip"):
        moved([1.0, 2.0], [1.0, 2.5])
    with pytest.raises(ConfigError, match="at least 2 seeds, got 1 and 2"):
        moved([1.0], [1.0, 2.0])
