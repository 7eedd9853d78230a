"""A model from a checkpoint is for use; a trainer makes it learn again."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.conformance.native_calls import array, native
from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.parity.rows.model_cases import BATCH

CONFIG = ONE_LAYER.replace(dropout=0.5)


@pytest.fixture
def loaded(backend, tmp_path):
    tmb.save(backend.build(CONFIG, seed=1), tmp_path / "model", backend=backend)
    return tmb.load(tmp_path / "model", backend)


def native_logits(backend, model):
    """As a program of one's own calls the model."""
    inputs = [BATCH[name] for name in ("source", "target_in", "source_valid_lens")]
    return array(backend, model(*native(backend, inputs)))


def test_a_loaded_model_drops_nothing(backend, loaded):
    first = native_logits(backend, loaded)
    np.testing.assert_array_equal(native_logits(backend, loaded), first)
    expected = backend.logits(loaded, BATCH["source"], BATCH["target_in"], BATCH["source_valid_lens"])
    np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.long
def test_a_trainer_of_a_loaded_model_drops_again(backend, loaded):
    batch = THE_BATCH
    whole, _ = backend.loss_and_gradients(loaded, batch)
    losses = [float(backend.trainer(loaded, learning_rate=1e-12, seed=seed).step(batch)) for seed in (0, 1)]
    assert all(abs(loss - whole) > 1e-3 * whole for loss in (*losses, losses[0] - losses[1] + whole))
