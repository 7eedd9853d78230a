"""Training steps: the optimizer's formula, clipping, reproducibility, and that it learns."""

import numpy as np
import pytest

from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.errors import ConfigError, WeightsError
from transformer_mb.parity.measure import error, worst
from transformer_mb.parity.model_cases import BATCH, CONFIGS
from transformer_mb.trainer import Batch

THE_BATCH = Batch(**BATCH)
CONFIG = CONFIGS["d2l"]
ADAM = {"optimizer": "adam", "learning_rate": 0.005}
SGD = {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9}


def gradients_like(weights, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return {name: scale * rng.standard_normal(weights[name].shape) for name in sorted(weights)}


def adam_by_hand(weights, steps, learning_rate, betas=(0.9, 0.999), eps=1e-8):
    """Kingma & Ba 2015, Algorithm 1, line by line."""
    m = {name: np.zeros_like(value) for name, value in weights.items()}
    v = {name: np.zeros_like(value) for name, value in weights.items()}
    for t, gradients in enumerate(steps, start=1):
        for name, g in gradients.items():
            m[name] = betas[0] * m[name] + (1 - betas[0]) * g
            v[name] = betas[1] * v[name] + (1 - betas[1]) * g**2
            m_hat, v_hat = m[name] / (1 - betas[0] ** t), v[name] / (1 - betas[1] ** t)
            weights = {**weights, name: weights[name] - learning_rate * m_hat / (np.sqrt(v_hat) + eps)}
    return weights, {**{f"m.{name}": value for name, value in m.items()}, **{f"v.{name}": value for name, value in v.items()}}


def largest(got, expected, before=None):
    """The worst error, of changes where ``before`` is given: a small step must not hide behind a large weight."""
    changes = {name: (got[name], expected[name]) for name in expected}
    if before is not None:
        changes = {name: (a - before[name], b - before[name]) for name, (a, b) in changes.items()}
    return worst(error(a, b, 1e-12) for a, b in changes.values())


@pytest.mark.parametrize("scale", [1.0, 1e-7], ids=["usual gradients", "tiny gradients"])
def test_adam_is_algorithm_1(scale, backend):
    model = backend.build(CONFIG, seed=0)
    trainer = backend.trainer(model, **ADAM)
    before = backend.get_weights(model)
    steps = [gradients_like(before, seed, scale) for seed in range(3)]
    for gradients in steps:
        trainer.update(gradients)
    expected, moments = adam_by_hand(before, steps, 0.005)
    assert largest(backend.get_weights(model), expected, before) <= 1e-11
    state = trainer.state_dict()
    assert int(state.pop("step")) == 3 == trainer.step_count
    assert set(state) == set(moments) and largest(state, moments) <= 1e-11


def test_sgd_with_momentum(backend):
    model = backend.build(CONFIG, seed=0)
    trainer = backend.trainer(model, **SGD)
    before = backend.get_weights(model)
    velocity = {name: np.zeros_like(value) for name, value in before.items()}
    expected = before
    for seed in range(3):
        gradients = gradients_like(before, seed)
        trainer.update(gradients)
        velocity = {name: 0.9 * velocity[name] + gradients[name] for name in before}
        expected = {name: expected[name] - 0.1 * velocity[name] for name in before}
    assert largest(backend.get_weights(model), expected, before) <= 1e-11
    state = trainer.state_dict()
    assert largest({name: state[f"momentum.{name}"] for name in before}, velocity) <= 1e-11


@pytest.mark.parametrize("clip_norm", [0.5, 1e6], ids=["clipped", "not clipped"])
def test_clipping_scales_all_gradients_together(clip_norm, backend):
    model = backend.build(CONFIG, seed=0)
    before = backend.get_weights(model)
    gradients = gradients_like(before, 1)
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=1.0, clip_norm=clip_norm)
    trainer.update(gradients)
    norm = np.sqrt(sum(np.sum(g**2) for g in gradients.values()))
    after = backend.get_weights(model)
    expected = {name: before[name] - min(1.0, clip_norm / norm) * gradients[name] for name in before}
    assert largest(after, expected, before) <= 1e-11


def test_the_learning_rate_can_change(backend):
    model = backend.build(CONFIG, seed=0)
    before = backend.get_weights(model)
    gradients = gradients_like(before, 1)
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=1.0)
    trainer.learning_rate = 0.125
    trainer.update(gradients)
    expected = {name: before[name] - 0.125 * gradients[name] for name in before}
    assert largest(backend.get_weights(model), expected, before) <= 1e-12


@pytest.mark.parametrize(
    "options",
    [ADAM, SGD, {**ADAM, "clip_norm": 1.0, "normalization": "tokens", "label_smoothing": 0.1}],
    ids=["adam", "sgd", "all options"],
)
def test_a_step_is_its_gradients_and_the_update(options, backend):
    """With injected masks a whole step equals loss_and_gradients followed by update."""
    masks = dropout_masks(CONFIG, seed=9, step=0, batch=3, source_steps=5, target_steps=4)
    stepped, updated = backend.build(CONFIG, seed=0), backend.build(CONFIG, seed=0)
    before = backend.get_weights(stepped)
    whole, parts = backend.trainer(stepped, **options), backend.trainer(updated, **options)
    loss = float(whole.step(THE_BATCH, dropout_masks=masks))
    loss_options = {key: options[key] for key in ("normalization", "label_smoothing") if key in options}
    expected_loss, gradients = backend.loss_and_gradients(updated, **BATCH, dropout_masks=masks, **loss_options)
    parts.update(gradients)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    # Adam turns rounding noise of gradients that are zero in theory into steps: their sizes are compared together.
    changes = [
        np.concatenate([(backend.get_weights(m)[n] - before[n]).ravel() for n in sorted(before)]) for m in (stepped, updated)
    ]
    assert error(changes[0], changes[1], 1e-12) <= 1e-6 and np.abs(changes[0]).max() > 0.0


def test_training_learns_a_batch(backend32):
    """With ten seeds NumPy ends at 0.007 to 0.065 of the first loss and torch at 0.003 to 0.029, and all decode the batch."""
    model = backend32.build(CONFIG, seed=0)
    trainer = backend32.trainer(model, optimizer="adam", learning_rate=0.01, clip_norm=1.0)
    losses = [float(trainer.step(THE_BATCH)) for _ in range(150)]
    assert np.mean(losses[-10:]) < 0.1 * losses[0]
    expected = [row[: row.index(3)] if 3 in row else row for row in BATCH["target_out"].tolist()]
    assert backend32.greedy(model, BATCH["source"], BATCH["source_valid_lens"], 4) == expected


def run(backend, steps, seed, state=None, weights=None):
    model = backend.build(CONFIG, seed=0)
    trainer = backend.trainer(model, **ADAM, seed=seed)
    if state is not None:
        backend.set_weights(model, weights)
        trainer.load_state_dict(state)
    losses = [float(trainer.step(THE_BATCH)) for _ in range(steps)]
    return losses, backend.get_weights(model), trainer.state_dict()


def test_the_seed_determines_dropout(backend32):
    first, second, other = (run(backend32, 3, seed)[0] for seed in (1, 1, 2))
    assert first == second and first != other
    assert first[0] != first[1]


def test_resuming_continues_exactly(backend32):
    losses, weights, _ = run(backend32, 4, seed=1)
    _, half_weights, state = run(backend32, 2, seed=1)
    resumed, resumed_weights, _ = run(backend32, 2, 1, state, half_weights)
    assert resumed == losses[2:]
    for name in weights:
        np.testing.assert_array_equal(resumed_weights[name], weights[name])


def test_a_state_that_does_not_fit_is_refused(backend):
    trainer = backend.trainer(backend.build(CONFIG, seed=0), **ADAM)
    state = trainer.state_dict()
    state["m.extra"] = state.pop("m.decoder.dense.bias")
    with pytest.raises(WeightsError, match=r"missing m\.decoder\.dense\.bias.*unexpected m\.extra"):
        trainer.load_state_dict(state)


BAD_OPTIONS = {
    "optimizer": ({"optimizer": "adamw"}, "optimizer must be one of adam, sgd, got 'adamw'"),
    "rate": ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
    "clip": ({"clip_norm": -1.0}, "clip_norm must be positive"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options(name, backend):
    options, message = BAD_OPTIONS[name]
    with pytest.raises(ConfigError, match=message):
        backend.trainer(backend.build(CONFIG, seed=0), **options)
