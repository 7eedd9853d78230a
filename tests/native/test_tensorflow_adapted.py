"""Layers of Keras' own ``enable_lora``, and frozen ones: what a trainer moves and what a checkpoint holds."""

import keras
import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import CheckpointError, ConfigError
from transformer_mb.trainer import Batch

CONFIG = TransformerConfig(source_vocab_size=13, target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16)
SOURCE, TARGET, LENS = np.array([[4, 5, 6], [5, 6, 7]]), np.array([[2, 5], [2, 6]]), np.array([3, 2])
BATCH = Batch(SOURCE, LENS, TARGET, np.array([[5, 3], [6, 3]]), np.array([2, 2]))


@pytest.fixture
def backend():
    return tmb.get_backend("tensorflow")


@pytest.fixture
def adapted(backend):
    """A model that trains the factors of two layers and nothing else."""
    model = backend.build(CONFIG, seed=0)
    model.trainable = False
    for layer in (model.encoder.blks[0].attention.W_q, model.decoder.embedding):
        layer.trainable = True
        layer.enable_lora(2)
    return model


def values(model):
    return {variable.path: variable.numpy() for variable in model.weights}


def moved(before, model):
    return sorted(path.rsplit("/", 1)[1] for path, value in values(model).items() if not np.array_equal(value, before[path]))


def test_a_trainer_moves_the_factors_of_lora_alone(backend, adapted):
    trainer, before = backend.trainer(adapted, optimizer="adamw", weight_decay=0.1), values(adapted)
    for _ in range(2):
        trainer.step(BATCH)
    names = ["lora_embeddings_a", "lora_embeddings_b", "lora_kernel_a", "lora_kernel_b"]
    assert moved(before, adapted) == names


def test_a_checkpoint_holds_the_sums_that_lora_computes_with(backend, adapted, tmp_path):
    trainer = backend.trainer(adapted, learning_rate=0.1)
    trainer.step(BATCH)
    trainer.step(BATCH)
    expected = backend.logits(adapted, SOURCE, TARGET, LENS)
    tmb.save(adapted, tmp_path / "m")
    plain = tmb.load(tmp_path / "m", backend="numpy")
    np.testing.assert_allclose(tmb.get_backend("numpy").logits(plain, SOURCE, TARGET, LENS), expected, atol=1e-5)
    with pytest.raises(CheckpointError, match="lora_kernel_a"):
        tmb.save(adapted, tmp_path / "with_moments", trainer=trainer)
    assert not (tmp_path / "with_moments").exists()


def test_weights_given_to_a_model_with_lora_are_its_sums(backend, adapted):
    backend.trainer(adapted, learning_rate=0.1).step(BATCH)
    other = backend.build(CONFIG, seed=1)
    backend.set_weights(adapted, backend.get_weights(other))
    for tokens in (TARGET, TARGET[:, :1]):
        given, own = (backend.logits(model, SOURCE, tokens, LENS) for model in (adapted, other))
        np.testing.assert_array_equal(given, own)


def test_frozen_weights_stay_and_the_rest_goes_on_from_a_checkpoint(backend, tmp_path):
    model = backend.build(CONFIG, seed=0)
    model.encoder.trainable = False
    before = values(model)
    trainer = backend.trainer(model)
    trainer.step(BATCH)
    frozen = {variable.path for variable in model.encoder.weights}
    for path, value in values(model).items():
        assert np.array_equal(value, before[path]) == (path in frozen)
    other = backend.build(CONFIG, seed=0)
    other.encoder.trainable = False
    again = backend.trainer(other)
    again.load_state_dict(trainer.state_dict())
    assert not trainer.state_dict()["m.encoder.embedding.weight"].any()
    backend.set_weights(other, backend.get_weights(model))
    trainer.step(BATCH)
    again.step(BATCH)
    for name, weight in backend.get_weights(model).items():
        np.testing.assert_array_equal(backend.get_weights(other)[name], weight)


def test_a_model_that_is_frozen_as_a_whole_has_no_trainer(backend):
    model = backend.build(CONFIG, seed=0)
    assert isinstance(model, keras.Model)
    model.trainable = False
    with pytest.raises(ConfigError, match="must have a weight that is trainable, got none"):
        backend.trainer(model)
