"""What a training step computes by other operators than an evaluation, and what it reads, in MXNet."""

from contextlib import nullcontext

import numpy as np
import pytest

from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
import mxnet as mx
from mxnet import autograd
from mxnet import np as mnp

from transformer_mb.batch import Batch
from transformer_mb.presets import d2l


def batch_of(batch, source_steps, target_steps, seed=0):
    rng = np.random.default_rng((batch, seed))
    source, target = rng.integers(4, 9, (batch, source_steps)), rng.integers(4, 9, (batch, target_steps))
    return Batch(source, np.full(batch, source_steps), target, target, np.full(batch, target_steps))


def test_compiled_steps_are_the_imperative_ones(monkeypatch):
    """Bit by bit, of two rounds over six shapes: four keep their memory and inputs, two are then given others."""
    from transformer_mb.backends.mxnet import trainer as module

    shapes = [(2, 3, 4), (3, 3, 4), (2, 5, 4), (2, 3, 2), (1, 1, 1), (2, 4, 4)]
    batches = [batch_of(*shape, seed) for seed in range(2) for shape in shapes]
    config = d2l(9, 9, activation="gelu", tie_output=True, position="learned")
    backend, results = layers.BACKEND(), []
    for compile_steps in (True, False):
        if not compile_steps:
            monkeypatch.setattr(module, "compiled", lambda *arguments, **options: None)
        model = backend.build(config)
        trainer = backend.trainer(model, clip_norm=1.0)
        losses = [trainer.step(batch) for batch in batches]
        assert len(trainer.compiled) == 6 and len(trainer.kept) == module.STATIC_STEPS == 4
        assert all((step is not None) == compile_steps for step in trainer.compiled.values())
        results.append(([float(loss) for loss in losses], backend.get_weights(model)))
    (losses, weights), (expected_losses, expected) = results
    assert losses == expected_losses and len(set(losses)) == 12
    for name in expected:
        np.testing.assert_array_equal(weights[name], expected[name])


def test_the_trained_layer_norm_is_the_evaluated_one():
    """In training it is made of other operators, whose backward is fast; neither may be further from NumPy's in float64."""
    rng = np.random.default_rng(0)
    X, cotangent, gamma, beta = rng.normal(size=(2, 5, 7)) * 3.0, rng.normal(size=(2, 5, 7)), *rng.normal(size=(2, 7))
    X[0, 0] = 1e-3 * X[0, 0] + 5.0  # of small variance
    X, cotangent, gamma, beta = (array.astype(np.float32).astype(np.float64) for array in (X, cotangent, gamma, beta))
    deviation = np.sqrt(X.var(axis=-1, keepdims=True) + 1e-5)
    standard = (X - X.mean(axis=-1, keepdims=True)) / deviation
    scaled = cotangent * gamma
    means = [part.mean(axis=-1, keepdims=True) for part in (scaled, scaled * standard)]
    gradients = [(scaled - means[0] - standard * means[1]) / deviation, cotangent * standard, cotangent]
    exact = standard * gamma + beta, gradients[0], *(gradient.sum(axis=(0, 1)) for gradient in gradients[1:])

    layer, given = layers.LayerNorm(7, eps=1e-5), mnp.array(X, dtype="float32")
    layer.initialize()
    layer.gamma.set_data(mnp.array(gamma))
    layer.beta.set_data(mnp.array(beta))
    given.attach_grad()
    errors = []
    for train_mode in (False, True, True):  # nothing is kept from one batch for the next
        with autograd.record(train_mode):
            Y = layer(given)
        Y.backward(mnp.array(cotangent, dtype="float32"), train_mode=train_mode)
        found = [array.asnumpy() for array in (Y, given.grad, layer.gamma.grad(), layer.beta.grad())]
        errors.append([np.abs(array - right).max() / np.abs(right).max() for array, right in zip(found, exact, strict=True)])
    fused, trained, again = np.array(errors)
    assert (trained == again).all() and (fused < 1e-3).all()
    assert (trained <= np.maximum(3.0 * fused, 1e-6)).all(), errors


def test_a_batch_may_be_changed_after_its_step():
    """What a step reads is copied before the call returns, and the next batch waits until the engine has read this one."""
    backend, batches = layers.BACKEND(), [batch_of(2, 3, 4)._replace(target_out=np.full((2, 4), i)) for i in (4, 5, 6)]
    results = []
    for wait in (True, False):
        trainer = backend.trainer(backend.build(d2l(9, 9)))
        losses = []
        for batch in batches * 3:
            given = Batch(*(array.copy() for array in batch))
            losses.append(trainer.step(given))
            for array in given:
                array[:] = 1
            if wait:
                mx.nd.waitall()
        results.append([float(loss) for loss in losses])
    assert results[0] == results[1] and len(set(results[0])) == 9


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_what_is_frozen_stays(optimizer):
    """From whichever step on; what is unfrozen goes on."""
    options = {"optimizer": optimizer, "learning_rate": 0.01, **({"weight_decay": 0.1} if optimizer == "adamw" else {})}
    backend, batch = layers.BACKEND(), batch_of(2, 3, 4)
    model = backend.build(d2l(9, 9, dropout=0.0))
    trainer, changed = backend.trainer(model, **options), []
    for requirement in ("null", "write", "null", "write"):
        model.encoder.collect_params().setattr("grad_req", requirement)
        before = backend.get_weights(model)
        losses = [float(trainer.step(batch)) for _ in range(2)]
        after = backend.get_weights(model)
        moved = {name for name in before if (before[name] != after[name]).any()}
        changed.append(any(name.startswith("encoder") for name in moved))
        assert any(name.startswith("decoder") for name in moved) and losses[0] != losses[1]
    assert changed == [False, True, False, True]


def test_clipping_leaves_out_what_is_frozen():
    """The gradient of the step before would count in the norm."""
    backend, batch, found = layers.BACKEND(), batch_of(2, 3, 4), []
    for steps_before in (1, 0):
        model = backend.build(d2l(9, 9, dropout=0.0))
        trainer = backend.trainer(model, optimizer="sgd", learning_rate=1.0, clip_norm=1e-2)
        weights = backend.get_weights(model)
        for _ in range(steps_before):
            trainer.step(batch)
        backend.set_weights(model, weights)
        model.encoder.collect_params().setattr("grad_req", "null")
        trainer.step(batch)
        found.append(backend.get_weights(model)["decoder.dense.weight"])
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_gradients_of_frozen_parameters():
    """All parameters have one, and are frozen afterwards as before."""
    backend, batch = layers.BACKEND(), batch_of(2, 3, 4)
    model = backend.build(d2l(9, 9, dropout=0.0))
    expected_loss, expected = backend.loss_and_gradients(model, batch)
    parameter = model.encoder.embedding.weight
    parameter.grad_req = "null"
    loss, gradients = backend.loss_and_gradients(model, batch)
    assert loss == expected_loss and parameter.grad_req == "null"
    for name in expected:
        np.testing.assert_array_equal(gradients[name], expected[name])
    X = np.ones((1, 2, 8), np.float32)
    layer = backend.layer("PositionWiseFFN", 8, 8, 8)
    layer.dense1.weight.grad_req = "null"
    assert backend.gradients(layer, [X], X)[2].keys() == {f"dense{i}.{name}" for i in (1, 2) for name in ("weight", "bias")}


def test_gradients_of_two_steps_are_not_added():
    """Whatever a program of gluon's has the parameters do with theirs."""
    backend, batch, losses = layers.BACKEND(), batch_of(2, 3, 4), []
    for requirement in ("write", "add"):
        model = backend.build(d2l(9, 9, dropout=0.0))
        model.collect_params().setattr("grad_req", requirement)
        trainer = backend.trainer(model, optimizer="sgd", learning_rate=0.01)
        losses.append([float(trainer.step(batch)) for _ in range(4)])
        losses[-1] += [float(trainer.accumulated_step([batch, batch])) for _ in range(2)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("options", [{"optimizer": "sgd"}, {"optimizer": "adamw", "weight_decay": 0.5}])
def test_a_trainer_goes_on_with_a_model_that_is_initialized_anew(options):
    backend, batch, losses = layers.BACKEND(), batch_of(2, 3, 4), []
    for anew in (False, True):
        model = backend.build(d2l(9, 9, dropout=0.0))
        trainer = backend.trainer(model, learning_rate=0.1, **options)
        losses.append([float(trainer.step(batch)) for _ in range(3)])
        if anew:
            weights = backend.get_weights(model)
            model.initialize(force_reinit=True)
            backend.set_weights(model, weights)
        losses[-1] += [float(trainer.step(batch)) for _ in range(3)]
    assert losses[0] == losses[1] and len(set(losses[0])) == 6


def test_calls_inside_somebodys_record():
    """They compute what they do outside, and what is recorded around them keeps its gradient."""
    backend, batch, found = layers.BACKEND(), batch_of(2, 3, 4), []
    X = mnp.array([3.0])
    X.attach_grad()
    for around in (nullcontext, autograd.record):
        with around():
            Y = X * X
            model = backend.build(d2l(9, 9, dropout=0.0))
            trainer = backend.trainer(model)
            losses = [float(trainer.step(batch)) for _ in range(3)]
            trainer.update(backend.loss_and_gradients(model, batch)[1])
            trainer.load_state_dict(trainer.state_dict())
            decoded = [backend.beam(model, batch.source, max_steps=4) for _ in range(4)]
            logits = backend.logits(model, batch.source, batch.target_in).tolist()
            layer = backend.layer("LayerNorm", 3)
            gradients = backend.gradients(layer, [np.eye(3)], np.ones((3, 3)))[2]["weight"].tolist()
            Y = Y * X
        found.append([losses, decoded, logits, gradients])
    assert found[0] == found[1]
    Y.backward()
    assert X.grad.tolist() == [27.0]
