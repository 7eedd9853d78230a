"""What MXNet has compiled of a model holds until somebody changes or watches one of its layers."""

import numpy as np
import pytest

from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
from mxnet import np as mnp

from transformer_mb.backends.mxnet import trainer as trainer_module
from transformer_mb.backends.mxnet.shortcuts import calls
from transformer_mb.batch import Batch
from transformer_mb.presets import d2l

SOURCE = np.random.default_rng(0).integers(4, 9, (2, 3))
BATCH = Batch(SOURCE, np.array([3, 3]), SOURCE, SOURCE, np.array([3, 3]))
CONFIG = d2l(9, 9, dropout=0.0)


class Around(layers.PositionWiseFFN.__mro__[1]):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, X):
        return self.inner(X) * 5.0


def change_epsilon(model):
    for side in (model.encoder, model.decoder):
        side.blks[0].addnorm1.ln.eps = 1.0


def change_scale(model):
    model.decoder.scale = 2.0


def replace(model, activation="gelu"):
    backend = layers.BACKEND()
    model.decoder.blks[0].ffn = backend.PositionWiseFFN(32, 64, 32, activation=activation)
    weights = backend.get_weights(model.decoder.blks[0].ffn)
    rng = np.random.default_rng(1)
    backend.set_weights(model.decoder.blks[0].ffn, {name: rng.normal(size=array.shape) for name, array in weights.items()})


def replace_by_its_like(model):
    replace(model, "relu")


def wrap(model):
    block = model.decoder.blks[1]
    around = Around(block.ffn)
    del block.ffn  # gluon refuses to put another class in its place
    block.ffn = around


def score(model):
    return layers.BACKEND().hypotheses(model, SOURCE, max_steps=4, beam=1)[0][0].log_probability


@pytest.fixture
def compiled_count(monkeypatch):
    """How many calls have been compiled so far."""
    made = []
    for module in (calls, trainer_module):
        compiled = module.compiled
        monkeypatch.setattr(module, "compiled", lambda *args, to=compiled, **options: made.append(1) or to(*args, **options))
    return lambda: len(made)


CHANGES = [change_epsilon, change_scale, replace, replace_by_its_like, wrap]


@pytest.mark.parametrize("change", CHANGES)
def test_decoding_obeys_changed_layers(change, compiled_count):
    backend = layers.BACKEND()
    model, fresh = (backend.build(CONFIG, seed=2) for _ in range(2))
    before = [score(model) for _ in range(4)][-1]
    assert compiled_count() > 1
    change(model)
    change(fresh)
    assert score(model) == pytest.approx(score(fresh), rel=1e-6) and abs(score(model) - before) > 1e-3


@pytest.mark.parametrize("change", CHANGES)
def test_a_trainer_obeys_changed_layers(change, compiled_count):
    backend = layers.BACKEND()
    model = backend.build(CONFIG, seed=2)
    trainer = backend.trainer(model, optimizer="sgd", learning_rate=1e-9)
    before = [float(trainer.step(BATCH)) for _ in range(2)][-1]
    assert compiled_count() == 1
    change(model)
    after = float(trainer.step(BATCH))
    assert after == pytest.approx(backend.loss_and_gradients(model, BATCH)[0], rel=1e-5) and abs(after - before) > 1e-3


def test_tokens_suppressed_later_are_not_decoded():
    backend = layers.BACKEND()
    model = backend.build(CONFIG, seed=2)
    decoded = {token for _ in range(4) for row in backend.greedy(model, SOURCE, max_steps=4) for token in row}
    model.config = model.config.replace(suppress_ids=tuple(decoded))
    assert not decoded & {token for row in backend.greedy(model, SOURCE, max_steps=4) for token in row}


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("find", [lambda model: model.decoder, lambda model: model.decoder.blks[1].ffn.dense2])
def test_hooks_are_called_at_every_step(register, find):
    backend = layers.BACKEND()
    model, calls, counts = backend.build(CONFIG, seed=2), [], []
    trainer = backend.trainer(model)
    expected = [backend.greedy(model, SOURCE, max_steps=4) for _ in range(4)][-1]
    handle = getattr(find(model), register)(lambda *_: calls.append(1))
    for _ in range(4):
        assert backend.greedy(model, SOURCE, max_steps=4) == expected
        counts.append(len(calls))
    assert counts == [4, 8, 12, 16]
    trainer.step(BATCH)
    trainer.step(BATCH)
    assert len(calls) == 18
    handle.detach()
    trainer.step(BATCH)
    backend.greedy(model, SOURCE, max_steps=4)
    assert len(calls) == 18


def test_a_replaced_forward_is_called_at_every_step():
    backend, called = layers.BACKEND(), []
    model = backend.build(CONFIG, seed=2)
    ffn = model.decoder.blks[1].ffn
    own = ffn.forward
    ffn.forward = lambda X: called.append(1) or own(X)
    for searches in range(1, 5):
        backend.greedy(model, SOURCE, max_steps=4)
        assert len(called) == 4 * searches


def test_what_decoding_has_compiled_stays_while_weights_change(compiled_count):
    """Validation between steps compiles nothing anew, and another cast does."""
    backend = layers.BACKEND()
    model = backend.build(CONFIG, seed=2)
    trainer = backend.trainer(model)
    trainer.step(BATCH)
    [score(model) for _ in range(4)]
    made, weights = compiled_count(), backend.get_weights(model)
    trainer.step(BATCH)
    backend.set_weights(model, weights)
    expected = score(model)
    assert compiled_count() == made
    model.cast("float64")
    wide = layers.BACKEND(dtype="float64")
    found = [wide.hypotheses(model, SOURCE, max_steps=4, beam=1)[0][0].log_probability for _ in range(4)]
    assert found == pytest.approx([expected] * 4, rel=1e-5) and compiled_count() > made


def test_dropout_of_a_replaced_layer():
    backend = layers.BACKEND()
    model = backend.build(d2l(9, 9, dropout=0.5))
    trainer = backend.trainer(model)
    trainer.step(BATCH)
    norm = model.decoder.blks[0].addnorm1
    model.decoder.blks[0].addnorm1 = backend.AddNorm(32, 0.5)
    assert norm is not model.decoder.blks[0].addnorm1 and np.isfinite(float(trainer.step(BATCH)))


def test_models_are_freed():
    import gc
    import weakref

    model = layers.BACKEND().build(CONFIG)
    [score(model) for _ in range(4)]
    side = weakref.ref(model.decoder)
    assert model.decoder in calls.CALLS
    del model
    gc.collect()
    mnp.zeros(1).wait_to_read()
    assert side() is None
