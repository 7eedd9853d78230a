"""Our layers inside Paddle's own programs: its models, optimizers, files and compiler."""

import os
import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle import nn

from native.small import LAST_KEPT, tokens_of_late_sums
from transformer_mb.backends.paddle import (
    EncoderBlock,
    MaskedSoftmaxCELoss,
    MultiHeadAttention,
    PaddleBackend,
    TransformerEncoder,
)
from transformer_mb.backends.paddle.decoding import drawn
from transformer_mb.backends.paddle.distributed import PaddleProcesses
from transformer_mb.backends.paddle.shortcuts.prepared_layers import is_plain
from transformer_mb.backends.paddle.weights import named_parameters
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.initialization import initial_weights

CONFIG = TransformerConfig(source_vocab_size=12, target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16)


@pytest.fixture(autouse=True)
def seed():
    paddle.seed(3)


def train(model, inputs, labels, steps):
    """The losses of some steps of Paddle's own Adam."""
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())
    losses = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(*inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


class Reader(nn.Layer):
    """Which of three tokens does a sequence hold at its first valid step? Answered by attention."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 16)
        self.attention = MultiHeadAttention(16, 16, 16, 16, 4, 0.1)
        self.head = nn.Linear(16, 3)

    def forward(self, X, valid_lens):
        X = self.embedding(X)
        return self.head(self.attention(X, X, X, valid_lens).mean(axis=1))


def test_attention_trains_in_a_native_model():
    X = paddle.randint(0, 5, [32, 6])
    X[:, 0] = paddle.randint(0, 3, [32])
    losses = train(Reader(), (X, paddle.full([32], 1)), X[:, 0], 60)
    assert losses[-1] < 0.2 * losses[0]  # less than 0.001 of it with ten seeds


def test_encoder_blocks_train_in_a_sequential():
    blocks = [EncoderBlock(16, 16, 16, 16, 16, 16, 32, 4, 0.0, norm_position=order) for order in ("post", "pre")]
    model = nn.Sequential(nn.Embedding(7, 16), *blocks, nn.Linear(16, 7))
    X = paddle.randint(0, 7, [8, 5])
    losses = train(model, (X,), paddle.flip(X, axis=[1]), 120)
    assert losses[-1] < 0.3 * losses[0]  # 0.05 to 0.14 of it with ten seeds


@pytest.mark.parametrize("dtype", [paddle.int32, paddle.int64])
def test_whole_numbers_of_both_sizes(dtype):
    """Paddle refuses to mix int64 with float32, and int32 with int64 in places."""
    model = PaddleBackend().build(CONFIG)
    source, target = paddle.full([2, 3], 4, dtype), paddle.full([2, 4], 5, dtype)
    logits, _ = model(source, target, paddle.to_tensor([3, 1], dtype))
    for normalization in ("steps", "tokens"):
        loss = MaskedSoftmaxCELoss(normalization=normalization)(logits, target, paddle.to_tensor([4, 2], dtype))
        assert loss.shape == [2] and loss.dtype == paddle.float32
        assert bool(paddle.isfinite(paddle.grad(loss.sum(), [model.decoder.dense.weight], retain_graph=True)[0]).all())


def test_a_very_improbable_label_costs_what_it_should():
    """Paddle's own cross-entropy gives 64 here."""
    logits = paddle.to_tensor([[[100.0, 0.0, -300.0]]])
    loss = MaskedSoftmaxCELoss()(logits, paddle.to_tensor([[2]]), paddle.to_tensor([1]))
    assert loss.item() == 400.0


def test_a_state_dict_through_paddles_files(tmp_path):
    backend = PaddleBackend()
    model, other = backend.build(CONFIG, seed=1), backend.build(CONFIG, seed=2)
    assert set(model.state_dict()) == set(backend.parameter_shapes(model))
    paddle.save(model.state_dict(), str(tmp_path / "model.pdparams"))
    other.set_state_dict(paddle.load(str(tmp_path / "model.pdparams")))
    source, target = np.array([[4, 5, 6]]), np.array([[2, 7]])
    expected = backend.logits(model, source, target)
    np.testing.assert_array_equal(backend.logits(other, source, target), expected)


def test_to_another_dtype_and_back():
    """The position table is made anew for each dtype: what float32 rounded does not come back as float64."""
    encoder = TransformerEncoder(9, 8, 8, 8, 8, 8, 8, 16, 2, 1, 0.0)
    tokens = paddle.to_tensor([[1, 2, 3]])
    expected = encoder(tokens).numpy()
    assert encoder.to(dtype="float64")(tokens).dtype == paddle.float64
    np.testing.assert_allclose(encoder(tokens).numpy(), expected, atol=1e-5)
    table = encoder.pos_encoding.P
    assert table.dtype == paddle.float64 and float(table[1, 0]) == np.sin(1.0)


def test_paddles_own_training_leaves_the_pad_row_zero():
    config = CONFIG.replace(source_vocab_size=13, share_embeddings=True, tie_output=True, padding_vector_zero=True)
    model = PaddleBackend().build(config)
    model.train()
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    tokens = paddle.to_tensor([[4, 5, config.pad_id]])
    logits, _ = model(tokens, tokens, paddle.to_tensor([2]))
    logits.square().sum().backward()
    before = model.encoder.embedding.weight.numpy()
    optimizer.step()
    after = model.encoder.embedding.weight.numpy()
    assert (after[config.pad_id] == 0.0).all() and (after[4] != before[4]).any()


def test_the_process_stays_as_it_was():
    before = paddle.get_default_dtype()
    backend = PaddleBackend(dtype="float64")
    model = backend.build(CONFIG)
    assert model.decoder.dense.weight.dtype == paddle.float64
    assert paddle.get_default_dtype() == before == "float32"
    tokens, lens = np.array([[4, 5, 6]]), np.array([3])
    backend.trainer(model).step(Batch(tokens, lens, tokens, tokens, lens))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_large_models_gradients_come_in_several_vectors(monkeypatch):
    """The limits are far above these sizes; where they are not, the same weights and moments come out."""
    tokens, lens = np.arange(8).reshape(2, 4) % 12, np.array([4, 3])
    states = {}
    for limits in ({}, {"LONGEST": 100, "CHUNK": 7}):
        for name, limit in limits.items():
            monkeypatch.setattr(f"transformer_mb.backends.paddle.optimizers.{name}", limit)
        backend = PaddleBackend(dtype="float64")
        model = backend.build(CONFIG, seed=0)
        trainer = backend.trainer(model, optimizer="adamw", weight_decay=0.1, clip_norm=0.1)
        for _ in range(3):
            trainer.step(Batch(tokens, lens, tokens, tokens, lens))
        states[len(trainer.optimizer.groups)] = {**backend.get_weights(model), **trainer.state_dict()}
    one, many = states.values()
    assert max(states) > 20 and 1 in states and len(one) == len(many)
    for name, array in one.items():
        np.testing.assert_allclose(many[name], array, rtol=1e-10, atol=1e-15, err_msg=name)


def test_every_vector_of_gradients_is_summed(monkeypatch):
    monkeypatch.setattr("paddle.distributed.all_reduce", lambda vector, op: vector.scale_(2.0))
    summed = PaddleProcesses.reduce(None, [paddle.full([size], float(size)) for size in (1, 2, 3)])
    assert [vector.tolist() for vector in summed] == [[2.0], [4.0] * 2, [6.0] * 3]


SOURCE, LENS = np.array([[4, 5, 6, 7], [8, 9, 0, 0], [7, 0, 0, 0]]), np.array([4, 2, 0])


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("register", ["register_forward_pre_hook", "register_forward_post_hook"])
def test_decoding_goes_through_layers_that_somebody_watches(register, side):
    backend, seen = PaddleBackend(), []
    model = backend.from_weights(CONFIG, initial_weights(CONFIG, 0))
    expected = backend.greedy(model, SOURCE[:1], LENS[:1], 3)
    getattr(getattr(model, side).blks[0].ffn.dense1, register)(lambda *_: seen.append(1))
    assert backend.greedy(model, SOURCE[:1], LENS[:1], 3) == expected
    assert seen


def test_a_dropout_that_is_switched_on_is_not_passed_over():
    """Monte Carlo dropout: the model evaluates, one of its layers trains."""
    backend = PaddleBackend()
    model = backend.from_weights(CONFIG.replace(dropout=0.5), initial_weights(CONFIG, 0))
    assert is_plain(model.encoder) and is_plain(model.decoder)
    for stack in (model.encoder, model.decoder):
        stack.blks[0].addnorm1.dropout.train()
        assert not is_plain(stack)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_importing_warns_of_nothing(threads):
    command = [sys.executable, "-c", "import transformer_mb.backends.paddle"]
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stderr == ""


def test_tf32_is_off_on_a_gpu(monkeypatch):
    """The GPU itself is imagined: nothing is computed on it."""
    told = []
    monkeypatch.setattr(paddle.device.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(paddle.base.core, "set_cublas_switch", told.append, raising=False)
    monkeypatch.setattr(paddle, "CUDAPlace", lambda number: f"gpu:{number}")
    PaddleBackend(device="cpu")
    assert told == []
    assert PaddleBackend(device="gpu").device == "gpu:0" and told == [False]


def test_the_gradient_over_many_words_has_all_its_digits():
    """Paddle's own sum of so many exponentials loses one."""
    values = 3.0 * np.random.default_rng(0).standard_normal((1, 64, 8001))
    logits = paddle.to_tensor(values.astype(np.float32), stop_gradient=False)
    MaskedSoftmaxCELoss()(logits, paddle.zeros([1, 64], "int64"), paddle.to_tensor([64])).sum().backward()
    shares = np.exp(np.float64(logits.numpy()))
    exact = shares / shares.sum(axis=-1, keepdims=True)
    exact[..., 0] -= 1.0
    got = 64.0 * np.float64(logits.grad.numpy())
    assert np.linalg.norm((got - exact)[..., 1:]) < 6e-7 * np.linalg.norm(exact[..., 1:])


def test_a_sum_that_ends_late_draws_the_last_token_that_was_kept():
    assert tokens_of_late_sums(drawn, paddle.to_tensor) == LAST_KEPT


def test_a_linear_layer_by_itself_has_the_weight_as_others_do():
    assert {name: one.shape for name, one in named_parameters(nn.Linear(3, 5)).items()} == {"weight": (5, 3), "bias": (5,)}
