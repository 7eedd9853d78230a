"""Layers of Keras' own ``enable_lora``: what a trainer moves and what a checkpoint holds."""

import numpy as np
import pytest

import transformer_mb as tmb
from native import small
from transformer_mb.batch import Batch
from transformer_mb.errors import CheckpointError

CONFIG = small.CONFIG.replace(source_vocab_size=13)
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
