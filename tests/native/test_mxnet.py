"""Our layers inside gluon programs: built, trained, saved and switched as gluon's own; and the book's examples."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from native.small import LAST_KEPT, tokens_of_late_sums
from transformer_mb.backends import mxnet as layers  # first: it makes MXNet importable

# isort: split
import mxnet as mx
from mxnet import autograd, gluon, npx
from mxnet import np as mnp
from mxnet.gluon import nn

from transformer_mb.backends.mxnet.decoding import drawn
from transformer_mb.backends.mxnet.rotary import RotaryEncoding
from transformer_mb.backends.mxnet.shortcuts import threads
from transformer_mb.backends.mxnet.shortcuts.tape import compiled


def initialized(layer):
    layer.initialize()
    return layer


class AttentionPooling(gluon.Block):
    """Which of the tokens 0 to 3 comes second? Attention finds it by its position."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 16)
        self.positions = layers.PositionalEncoding(16, 0.0)
        self.attention = layers.MultiHeadAttention(16, 16, 16, 16, 2, 0.0)
        self.output = nn.Dense(4, in_units=16)

    def forward(self, tokens, valid_lens):
        X = self.positions(self.embedding(tokens))
        return self.output(self.attention(X, X, X, valid_lens)[:, 0])


def losses_of_training(net, inputs, labels, steps, **options):
    trainer = gluon.Trainer(net.collect_params(), "adam", options)
    softmax_loss = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(steps):
        with autograd.record():
            loss = softmax_loss(net(*inputs), labels)
        loss.backward()
        trainer.step(labels.shape[0])
        losses.append(float(loss.mean()))
    return losses


def test_attention_in_a_gluon_block_learns():
    mx.random.seed(0)
    tokens = mnp.array(np.random.default_rng(0).integers(0, 4, (32, 5)))
    losses = losses_of_training(
        initialized(AttentionPooling()), (tokens, mnp.full(32, 5)), tokens[:, 1], 150, learning_rate=0.02
    )
    assert losses[0] > 1.0 and np.mean(losses[-5:]) < 0.1 * losses[0]  # less than 0.001 of it with ten seeds


def test_encoder_block_in_a_sequential_learns():
    mx.random.seed(0)
    net = nn.Sequential()
    net.add(nn.Embedding(4, 16), layers.EncoderBlock(16, 16, 16, 16, [16], 16, 32, 4, 0.1), nn.Dense(4, in_units=5 * 16))
    tokens = mnp.array(np.random.default_rng(1).integers(0, 4, (32, 5)))
    initialized(net).hybridize()  # which reaches the gluon layers inside ours, and must change nothing
    losses = losses_of_training(net, (tokens,), tokens[:, 1], 100, learning_rate=0.01)
    assert losses[0] > 1.0 and np.mean(losses[-5:]) < 0.1 * losses[0]  # 0.001 of it with ten seeds


def test_training_mode_is_autograds():
    layer = initialized(layers.AddNorm([64], 0.5))
    X, Y = mnp.zeros((4, 64)), mnp.random.normal(size=(4, 64))
    evaluated = layer(X, Y)
    with autograd.predict_mode():
        np.testing.assert_array_equal(layer(X, Y), evaluated)
    with autograd.train_mode():
        assert (layer(X, Y) != evaluated).any()
    with autograd.record():
        assert (layer(X, Y) != evaluated).any()
    with autograd.record(train_mode=False):
        np.testing.assert_array_equal(layer(X, Y), evaluated)


@pytest.mark.parametrize(("given", "mean", "deviation"), [(mx.init.Normal(2.0), 0.0, 2.0), (mx.init.Constant(5.0), 5.0, 0.0)])
def test_a_table_begins_as_its_initializer_says_but_for_the_row_of_padding(given, mean, deviation):
    encoder = layers.TransformerEncoder(99, 32, 32, 32, 32, [32], 32, 16, 2, 1, 0.0, padding_id=3)
    encoder.initialize(given)
    table = encoder.embedding.weight.data().asnumpy()
    np.testing.assert_array_equal(table[3], 0.0)
    others = np.delete(table, 3, axis=0)
    assert (others.mean(), others.std()) == pytest.approx((mean, deviation), abs=0.2)


def test_parameters_in_a_gluon_file(tmp_path):
    """With the names that the book's own gluon code has, so that its files load."""
    path = str(tmp_path / "encoder.params")
    first, second = (initialized(layers.TransformerEncoder(20, 8, 8, 8, 8, [8], 8, 16, 2, 2, 0.0)) for _ in range(2))
    first.save_parameters(path)
    assert {"embedding.weight", "blks.0.attention.W_q.weight", "blks.1.addnorm2.ln.gamma"} < set(npx.load(path))
    tokens = mnp.array([[1, 2, 3]])
    expected = first(tokens)
    assert (second(tokens) != expected).any()
    second.load_parameters(path)
    np.testing.assert_array_equal(second(tokens), expected)


def test_cast_to_float64():
    layer = initialized(layers.EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, activation="gelu"))
    layer.cast("float64")
    assert layer(mnp.ones((2, 3, 8), dtype="float64"), mnp.array([1, 0])).dtype == np.float64


@pytest.mark.parametrize("x", [-3.0, -0.5, 0.0, 1.7])
def test_gelu_and_its_gradient_are_exact(x):
    """Φ by the standard library's erf, and the derivative Φ(x) + x φ(x)."""
    from math import erf, exp, pi, sqrt

    from transformer_mb.backends.mxnet.feed_forward import ACTIVATIONS

    X = mnp.array([x], dtype="float64")
    X.attach_grad()
    with autograd.record():
        Y = ACTIVATIONS["gelu"](X)
    Y.backward()
    cumulative = 0.5 * (1.0 + erf(x / sqrt(2.0)))
    assert abs(Y.item() - x * cumulative) <= 1e-15
    assert abs(X.grad.item() - (cumulative + x * exp(-0.5 * x * x) / sqrt(2.0 * pi))) <= 1e-15


def test_compiled_functions():
    X, Y = mnp.array([1.0, 2.0]), mnp.array([3.0, 5.0])
    for array in (X, Y):
        array.attach_grad()

    def paused():
        with autograd.pause():
            square = X * X
        return (square * X).sum()

    with autograd.record():
        function = compiled(paused, [X], static=True)
        total = function([Y])
    total.backward()
    assert total.item() == 27.0 + 125.0
    np.testing.assert_array_equal(Y.grad, [9.0, 25.0])  # not 3 Y ** 2: the square counts as a constant
    with autograd.record():
        assert compiled(lambda: (X * mnp.array(np.arange(2.0))).sum(), [X], static=False) is None
    # Any number of inputs, and of outputs; outside record() nothing is to be differentiated.
    joined = compiled(lambda: [mnp.concatenate([X, X]), X + 1.0], [X], static=False)
    assert [output.tolist() for output in joined([Y])] == [[3.0, 5.0, 3.0, 5.0], [4.0, 6.0]]


def test_importing_sets_up_no_logging_and_logs_nothing():
    code = "import logging; {}import transformer_mb.backends.mxnet; print(logging.root.handlers, logging.root.manager.disable)"
    for first in ("", "logging.basicConfig(level='INFO', handlers=[logging.StreamHandler()]); "):
        done = subprocess.run([sys.executable, "-c", code.format(first)], capture_output=True, text=True)
        assert (
            done.stderr == ""
            and done.stdout.startswith("[]" if not first else "[<StreamHandler")
            and done.stdout.endswith(" 0\n")
        )


def test_small_work_takes_one_thread(monkeypatch):
    """What OpenMP itself says on the thread on which the engine runs operations."""
    said = []

    def ask(*_):
        said.append(ctypes.CDLL("libgomp.so.1").omp_get_max_threads())

    task, cpu, normal = threads._TASK(ask), (ctypes.c_int * 2)(1, 0), ctypes.c_int(0)

    def asked():
        mx.base._LIB.MXEnginePushSync(task, None, None, cpu, None, 0, None, 0, ctypes.byref(normal), 0, b"ask")
        mx.nd.waitall()
        return said.pop()

    before = asked()
    threads.suit(mx.cpu(), 2**20, 512)
    assert asked() == before, "OMP_NUM_THREADS is set here, and holds"
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.delenv("MXNET_OMP_MAX_THREADS", raising=False)
    monkeypatch.setattr(threads, "cores", lambda: 3)
    sizes = [(2**10, 512), (1, 512), (640, 32), (2**20, 512), (1, 32)]
    found = []
    for positions, num_hiddens in sizes:
        threads.suit(mx.cpu(), positions, num_hiddens)
        found.append(asked())
    assert found == [3, 1, 1, 3, 1]


def test_a_sum_that_ends_late_draws_the_last_token_that_was_kept():
    assert tokens_of_late_sums(drawn, mnp.array) == LAST_KEPT


def test_rotary_angles_have_float32_digits_in_float16():
    rotary = RotaryEncoding(2, 2048, base=10_000.0, layout="halves")
    X = np.random.default_rng(0).standard_normal((1, 1, 2000, 2)).astype("float16")
    turned = rotary(mnp.array(X, dtype="float16")).asnumpy().astype("float64")[0, 0]
    exact = X.astype("float64")[0, 0].view("complex128")[:, 0] * np.exp(1j * np.arange(2000))
    off = np.abs(turned - np.stack((exact.real, exact.imag), axis=-1))
    assert (off <= 0.51 * np.spacing(np.abs(turned).astype("float16")) + 1e-6).all()
