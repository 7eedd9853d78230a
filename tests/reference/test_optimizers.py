"""Adam against a literal transcription of Kingma & Ba's Algorithm 1; SGD and clipping against their formulas."""

import copy
import math

import numpy as np
import pytest

from transformer_mb.backends.numpy.framework import Parameter, flatten
from transformer_mb.backends.numpy.optimizers import build_optimizer, clip_gradients
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DtypeError
from transformer_mb.registry import get_backend
from transformer_mb.trainer import TrainerOptions

CONFIG = TransformerConfig(
    source_vocab_size=9, target_vocab_size=8, num_hiddens=8, ffn_num_hiddens=6, encoder_num_heads=2, decoder_num_heads=2
)
BATCH = Batch(
    np.array([[4, 5, 3, 1], [6, 7, 8, 3]]),
    np.array([3, 4]),
    np.array([[2, 4, 5], [2, 6, 1]]),
    np.array([[4, 5, 3], [6, 3, 1]]),
    np.array([3, 2]),
)


def algorithm_1(theta, gradients, alpha, beta1, beta2, epsilon, decay=0.0):
    """Kingma & Ba 2015, Algorithm 1, line by line on one number; with a decay AdamW (Loshchilov & Hutter 2019, Algorithm 2).

    AdamW's two factors are alpha here: the weight decay as it is known since counts from the learning rate.
    """
    m, v, t = 0.0, 0.0, 0
    for g in gradients:
        t = t + 1
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        theta = theta - alpha * (m_hat / (math.sqrt(v_hat) + epsilon) + decay * theta)
    return theta, m, v


@pytest.mark.parametrize(("scale", "decay"), [(1.0, 0.0), (1e-7, 0.0), (1.0, 0.3)], ids=["ordinary", "near epsilon", "adamw"])
def test_adam_is_algorithm_1(scale, decay):
    rng = np.random.default_rng(0)
    optimizer = "adamw" if decay else "adam"
    options = TrainerOptions(optimizer=optimizer, learning_rate=0.01, betas=(0.8, 0.98), eps=1e-8, weight_decay=decay)
    shapes = [(3, 4), (5,), (130, 140)]  # the last one is longer than one chunk
    parameters = [Parameter(rng.standard_normal(shape)) for shape in shapes]
    starts = [parameter.value.copy() for parameter in parameters]
    optimizer = build_optimizer(parameters, options)
    gradients = [[scale * rng.standard_normal(shape) for shape in shapes] for _ in range(5)]
    for count, step in enumerate(gradients, start=1):
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.gradient[...] = gradient
        optimizer.step(0.01, count)
    offset = 0
    for i, (parameter, start) in enumerate(zip(parameters, starts, strict=True)):
        for place in list(np.ndindex(start.shape))[::37]:
            theta, m, v = algorithm_1(start[place], [step[i][place] for step in gradients], 0.01, 0.8, 0.98, 1e-8, decay)
            assert parameter.value[place] == pytest.approx(theta, rel=1e-14)
            index = offset + np.ravel_multi_index(place, start.shape)
            assert optimizer.slots["m"][index] == pytest.approx(m, rel=1e-13)
            assert optimizer.slots["v"][index] == pytest.approx(v, rel=1e-13)
        offset += start.size


def test_the_learning_rate_of_each_step_counts():
    parameter = Parameter(np.zeros(1))
    optimizer = build_optimizer([parameter], TrainerOptions(learning_rate=1.0, eps=1e-30))
    parameter.gradient[...] = 5.0
    optimizer.step(0.25, 1)
    assert parameter.value[0] == pytest.approx(-0.25, rel=1e-14)  # Adam's first step is the learning rate


def test_sgd_with_momentum():
    parameter = Parameter(np.array([1.0, -2.0]))
    optimizer = build_optimizer([parameter], TrainerOptions(optimizer="sgd", momentum=0.5))
    for count, gradient in enumerate(([1.0, 2.0], [3.0, -2.0]), start=1):
        parameter.gradient[...] = gradient
        optimizer.step(0.1, count)
    np.testing.assert_allclose(optimizer.slots["momentum"], [3.5, -1.0], rtol=1e-15)
    np.testing.assert_allclose(parameter.value, [1.0 - 0.1 * (1.0 + 3.5), -2.0 - 0.1 * (2.0 - 1.0)], rtol=1e-15)


def test_clipping_scales_to_the_norm_and_leaves_small_gradients():
    gradients = [np.array([[3.0, 0.0]]), np.array([4.0])]  # of norm 5
    clip_gradients(gradients, 10.0)
    np.testing.assert_array_equal(gradients[1], [4.0])
    clip_gradients(gradients, 1.0)
    np.testing.assert_allclose(gradients[0], [[0.6, 0.0]], rtol=1e-15)
    np.testing.assert_allclose(gradients[1], [0.8], rtol=1e-15)
    nothing = [np.zeros(3)]
    clip_gradients(nothing, 1.0)
    np.testing.assert_array_equal(nothing[0], 0.0)


def test_flat_parameters_are_views_and_are_made_once():
    parameters = [Parameter(np.arange(6.0).reshape(2, 3)), Parameter(np.array([7.0]))]
    whole = flatten(parameters)
    np.testing.assert_array_equal(whole.value, [0, 1, 2, 3, 4, 5, 7])
    whole.value[3] = -1.0
    whole.gradient[6] = 2.0
    assert parameters[0].value[1, 0] == -1.0 and parameters[1].gradient[0] == 2.0
    again = flatten(parameters)
    assert again.value is whole.value and again.gradient is whole.gradient
    parts = flatten(parameters[:1])
    assert parts.value.size == 6 and parameters[0].value.base is parts.value


@pytest.fixture
def trained():
    backend = get_backend("numpy", dtype="float64")
    model = backend.build(CONFIG, seed=1)
    trainer = backend.trainer(model, learning_rate=0.01, clip_norm=1.0)
    trainer.step(BATCH)
    return backend, model, trainer


def test_a_second_trainer_and_new_weights_reach_the_model(trained):
    backend, model, trainer = trained
    second = backend.trainer(model, learning_rate=0.01)
    second.load_state_dict(trainer.state_dict())
    for taker in (trainer, second):
        before = backend.get_weights(model)
        taker.step(BATCH)
        after = backend.get_weights(model)
        assert all(np.abs(after[name] - before[name]).max() > 0.0 for name in before)
    backend.set_weights(model, before)
    after = backend.get_weights(model)
    assert all(np.array_equal(after[name], before[name]) for name in before)


def test_a_copy_of_a_model_in_training_is_free_of_it(trained):
    backend, model, trainer = trained
    same = copy.deepcopy(model)
    before = backend.get_weights(same)
    trainer.step(BATCH)
    after = backend.get_weights(same)
    assert all(np.array_equal(after[name], before[name]) for name in before)
    losses = [float(backend.trainer(same, learning_rate=0.01).step(BATCH)) for _ in range(2)]
    assert losses[0] != losses[1]


def test_a_model_in_training_keeps_its_dtype(trained):
    _, model, _ = trained
    with pytest.raises(DtypeError, match="stays float64, got float32"):
        model.to("float32")


def test_a_float32_model_computes_in_float32_throughout():
    backend = get_backend("numpy", dtype="float32")
    config = CONFIG.replace(activation="gelu", norm_kind="std_norm", position="learned", ffn_dropout=0.1, embedding_norm=True)
    model = backend.build(config)
    trainer = backend.trainer(model, clip_norm=0.1, label_smoothing=0.1)
    assert trainer.step(BATCH).dtype == np.float32
    assert all(parameter.holder.gradient.dtype == np.float32 for parameter in trainer.parameters.values())
    assert all(moment.dtype == np.float32 for moment in trainer.slots().values())
    logits, _ = model(BATCH.source, BATCH.target_in, BATCH.source_valid_lens)
    assert logits.dtype == np.float32
