"""Training: updates that follow one another, whole steps, reproducibility, and that it learns."""

import sys

import numpy as np
import pytest

from transformer_mb.batch import Batch
from transformer_mb.built_in import BUILT_IN
from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.errors import ConfigError, WeightsError
from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.rows.model_cases import BATCH
from transformer_mb.parity.verdict.limits import error, worst

ADAM = {"optimizer": "adam", "learning_rate": 0.005}
CLIPPED = {**ADAM, "clip_norm": 1.0}  # whoever needs one training step takes this one, which is compiled once
ADAMW = {**ADAM, "optimizer": "adamw", "weight_decay": 0.25}
SGD = {"optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9}


def gradients_like(weights, seed):
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(weights[name].shape) for name in sorted(weights)}


def changed_by(backend, options, steps):
    """What a trainer's updates by given gradients leave: the change of the weights, and its state."""
    model = backend.build(ONE_LAYER, seed=0)
    trainer, before = backend.trainer(model, **options), backend.get_weights(model)
    for learning_rate, gradients in steps:
        trainer.learning_rate = learning_rate
        trainer.update(gradients)
    after = backend.get_weights(model)
    return {name: after[name] - before[name] for name in before}, trainer


@pytest.mark.long(but=1)
@pytest.mark.parametrize(
    "options", [{**ADAM, "clip_norm": 5.0}, ADAMW, SGD], ids=["adam, clipped", "adamw", "sgd with momentum"]
)
def test_updates_follow_one_another(options, backend, reference):
    """Moments, step count and learning rate are carried on; one step by itself is a row of the matrix."""
    weights = reference.get_weights(reference.build(ONE_LAYER, seed=0))
    steps = [(0.125 / 2**seed, gradients_like(weights, seed)) for seed in range(3)]
    (got, trainer), (expected, reference_trainer) = (changed_by(each, options, steps) for each in (backend, reference))
    assert worst(error(got[name], expected[name], 1e-12) for name in expected) <= LADDER["optimizer step"].limit
    state, expected_state = trainer.state_dict(), reference_trainer.state_dict()
    assert int(state["step"]) == 3 == trainer.step_count and set(state) == set(expected_state)
    assert worst(error(state[name], expected_state[name], 1e-12) for name in state) <= LADDER["optimizer step"].limit


@pytest.mark.long(but=1)
@pytest.mark.parametrize(
    "options",
    [SGD, {**CLIPPED, "normalization": "tokens", "label_smoothing": 0.1}],
    ids=["sgd", "adam and all options"],
)
def test_a_step_is_its_gradients_and_the_update(options, backend):
    """With injected masks a whole step equals loss_and_gradients followed by update."""
    masks = dropout_masks(ONE_LAYER, seed=9, step=0, batch=3, source_steps=5, target_steps=4)
    stepped, updated = backend.build(ONE_LAYER, seed=0), backend.build(ONE_LAYER, seed=0)
    before = backend.get_weights(stepped)
    whole, parts = backend.trainer(stepped, **options), backend.trainer(updated, **options)
    loss = float(whole.step(THE_BATCH, dropout_masks=masks))
    loss_options = {key: options[key] for key in ("normalization", "label_smoothing") if key in options}
    expected_loss, gradients = backend.loss_and_gradients(updated, THE_BATCH, dropout_masks=masks, **loss_options)
    parts.update(gradients)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    # Adam turns rounding noise of gradients that are zero in theory into steps: their sizes are compared together.
    changes = [
        np.concatenate([(backend.get_weights(m)[n] - before[n]).ravel() for n in sorted(before)]) for m in (stepped, updated)
    ]
    assert error(changes[0], changes[1], 1e-12) <= 1e-6 and np.abs(changes[0]).max() > 0.0


def test_padding_changes_no_step(backend):
    """Where batches are trimmed, a step is the same as where a compiler wants few widths."""
    wider = {name: np.pad(array, [(0, 0), (0, 3)], constant_values=1) for name, array in BATCH.items() if array.ndim == 2}
    options, config = {**SGD, "normalization": "tokens"}, ONE_LAYER.replace(dropout=0.0)
    found = []
    for batch in (THE_BATCH, THE_BATCH._replace(**wider)):
        model = backend.build(config, seed=0)
        loss = float(backend.trainer(model, **options).step(batch))
        found.append({**backend.get_weights(model), "loss": np.array(loss)})
    assert worst(error(found[1][name], found[0][name], 1e-12) for name in found[0]) <= LADDER["optimizer step"].limit


def test_training_learns_a_batch(backend32):
    """With ten seeds NumPy ends at 0.007 to 0.065 of the first loss and torch at 0.003 to 0.029, and all decode the batch."""
    model = backend32.build(ONE_LAYER, seed=0)
    trainer = backend32.trainer(model, **{**CLIPPED, "learning_rate": 0.01})
    losses = [float(trainer.step(THE_BATCH)) for _ in range(150)]
    assert np.mean(losses[-10:]) < 0.1 * losses[0]
    expected = [row[: row.index(3)] if 3 in row else row for row in BATCH["target_out"].tolist()]
    assert backend32.greedy(model, BATCH["source"], BATCH["source_valid_lens"], 4) == expected


def run(backend, steps, seed, state=None, weights=None):
    model = backend.build(ONE_LAYER, seed=0)
    trainer = backend.trainer(model, **CLIPPED, seed=seed)
    if state is not None:
        backend.set_weights(model, weights)
        trainer.load_state_dict(state)
    losses = [float(trainer.step(THE_BATCH)) for _ in range(steps)]
    return losses, backend.get_weights(model), trainer.state_dict()


@pytest.fixture(scope="module")
def whole(backend32):
    return run(backend32, 4, seed=1)


@pytest.fixture(scope="module")
def half(backend32):
    return run(backend32, 2, seed=1)


def test_the_seed_determines_dropout(whole, half, backend32):
    first, second, other = whole[0][:2], half[0], run(backend32, 2, seed=2)[0]
    assert first == second and first != other
    assert first[0] != first[1]


def frameworks_numbers():
    """The framework's own random numbers, from a seed: a function that draws eight, as a program beside ours does."""
    if torch := sys.modules.get("torch"):
        return torch.manual_seed, lambda: torch.rand(8).numpy()
    if paddle := sys.modules.get("paddle"):
        return paddle.seed, lambda: paddle.rand([8]).numpy()
    if tensorflow := sys.modules.get("tensorflow"):
        return tensorflow.random.set_seed, lambda: tensorflow.random.uniform((8,)).numpy()
    if mxnet := sys.modules.get("mxnet"):
        return mxnet.random.seed, lambda: mxnet.np.random.uniform(size=(8,)).asnumpy()
    return np.random.seed, lambda: np.random.random(8)


def test_the_callers_random_numbers_stay_theirs(backend32):
    """The numbers are those of the framework and of NumPy; a training and a search draw from generators of their own."""
    model = backend32.build(ONE_LAYER, seed=0)
    trainer, losses = backend32.trainer(model, **CLIPPED), []
    for seed, draw in {frameworks_numbers(), (np.random.seed, lambda: np.random.random(8))}:
        seed(7)
        expected = [draw(), draw()]
        for work in (
            lambda batch: losses.append(float(trainer.step(batch))),
            lambda batch: backend32.sample(model, batch.source, batch.source_valid_lens, 3),
        ):
            seed(7)
            found = [draw()]
            work(THE_BATCH)
            np.testing.assert_array_equal([*found, draw()], expected)
    assert np.isfinite(losses).all()


def test_what_is_dropped_is_of_the_seed_and_the_step_and_not_of_their_sum(backend32):
    losses = []
    for seed in (1, 2):  # by steps that move nothing
        trainer = backend32.trainer(backend32.build(ONE_LAYER, seed=0), **{**CLIPPED, "learning_rate": 1e-30}, seed=seed)
        losses += [float(trainer.step(THE_BATCH)) for _ in range(3)]
    assert len(set(losses)) == 6


def test_resuming_continues_exactly(whole, half, backend32):
    losses, weights, _ = whole
    _, half_weights, state = half
    resumed, resumed_weights, _ = run(backend32, 2, 1, state, half_weights)
    assert resumed == losses[2:]
    for name in weights:
        np.testing.assert_array_equal(resumed_weights[name], weights[name])


def test_a_state_that_does_not_fit_is_refused(backend):
    trainer = backend.trainer(backend.build(ONE_LAYER, seed=0), **ADAM)
    state = trainer.state_dict()
    state["m.extra"] = state.pop("m.decoder.dense.bias")
    with pytest.raises(WeightsError, match=r"missing m\.decoder\.dense\.bias.*unexpected m\.extra"):
        trainer.load_state_dict(state)


BAD_OPTIONS = {
    "optimizer": ({"optimizer": "lion"}, "optimizer must be one of adam, adamw, sgd, got 'lion'"),
    "rate": ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
    "decay": ({"weight_decay": 0.1}, "weight_decay must be 0 but with adamw, got 0.1 with adam"),
    "clip": ({"clip_norm": -1.0}, "clip_norm must be positive"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options(name, backend):
    options, message = BAD_OPTIONS[name]
    with pytest.raises(ConfigError, match=message):
        backend.trainer(backend.build(ONE_LAYER, seed=0), **options)


@pytest.mark.long
def test_losses_without_gradients_are_those_with_them(backend, reference):
    """One per sentence; nothing is dropped, though the configuration has dropout, and the model stays as it was."""
    model, reference_model = (each.build(ONE_LAYER, seed=0) for each in (backend, reference))
    losses = backend.losses(model, THE_BATCH)
    assert losses.shape == (3,) and losses.dtype == np.float64 and losses.min() > 0.0
    total, _ = backend.loss_and_gradients(model, THE_BATCH)
    assert losses.sum() / BATCH["target_out"].shape[1] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(losses, reference.losses(reference_model, THE_BATCH), rtol=1e-12)
    assert backend.losses(model, THE_BATCH).tolist() == losses.tolist()


def parts_of(batch, rows):
    """The batch cut after so many rows."""
    return [Batch(*(array[cut] for array in batch)) for cut in (slice(rows), slice(rows, None))]


@pytest.mark.long(but=1)
@pytest.mark.parametrize("normalization", ["tokens", "steps"])
def test_an_accumulated_step_is_that_of_all_rows_at_once(normalization, backend):
    """Two batches of two rows and of one, with injected masks and clipped gradients, which each of them has others of."""
    options = {"optimizer": "sgd", "learning_rate": 0.5, "clip_norm": 0.5, "normalization": normalization}
    whole, parts = backend.build(ONE_LAYER, seed=0), backend.build(ONE_LAYER, seed=0)
    masks = dropout_masks(ONE_LAYER, seed=9, step=0, batch=3, source_steps=5, target_steps=4)
    cut = [{path: mask[rows] for path, mask in masks.items()} for rows in (slice(2), slice(2, None))]
    at_once, accumulated = backend.trainer(whole, **options), backend.trainer(parts, **options)
    for _ in range(2):  # the second step begins with the sums of the first
        expected = float(at_once.step(THE_BATCH, masks))
        assert float(accumulated.accumulated_step(parts_of(THE_BATCH, 2), cut)) == pytest.approx(expected, rel=1e-12)
    assert at_once.step_count == accumulated.step_count == 2
    weights, expected = backend.get_weights(parts), backend.get_weights(whole)
    assert worst(error(weights[name], expected[name], 1e-12) for name in expected) <= 1e-12


def test_what_a_trainer_offers_is_what_the_registry_says(backend):
    offered = {f"precision {name}" for name in backend.trainer_class.precisions} | {f"compile {backend.trainer_class.compiles}"}
    if backend.name not in BUILT_IN:  # of a backend of another package the registry knows nothing
        return
    has = {*BUILT_IN[backend.name].fast, *BUILT_IN[backend.name].on_gpu}
    expected = {f"precision {name}" for name in ("full", *sorted(has & {"bf16", "tf32"}))} | {f"compile {'compile' in has}"}
    assert offered == expected


def test_options_that_a_trainer_has_not_are_refused(backend, backend32):
    model = backend32.build(ONE_LAYER)
    with pytest.raises(ConfigError, match="precision must be one of full, bf16, tf32, got 'fp8'"):
        backend32.trainer(model, precision="fp8")
    if "bf16" in backend.trainer_class.precisions:
        with pytest.raises(ConfigError, match="dtype must be float32 with precision bf16"):
            backend.trainer(backend.build(ONE_LAYER), precision="bf16")
    else:
        with pytest.raises(ConfigError, match=f"precision must be full with backend {backend.name}, got 'bf16'"):
            backend32.trainer(model, precision="bf16")
    if not backend.trainer_class.compiles:
        with pytest.raises(ConfigError, match=f"compile must be false with backend {backend.name}"):
            backend32.trainer(model, compile=True)


@pytest.mark.two_bytes
@pytest.mark.long
def test_products_in_bfloat16_are_not_the_usual_ones(backend32):
    """A matrix cell would pass an option that does nothing: it is held to an error, and there would be none."""
    if "bf16" not in backend32.trainer_class.precisions:
        return
    losses = {}
    for precision in ("full", "bf16"):
        model = backend32.build(ONE_LAYER.replace(dropout=0.0), seed=0)
        losses[precision] = float(backend32.trainer(model, **SGD, precision=precision).step(THE_BATCH))
    assert 1e-6 < abs(losses["bf16"] / losses["full"] - 1.0) < 1e-2
