"""A small model of every published variant: logits, gradients and a step of its recipe's optimizer, as the oracle has them."""

import numpy as np
import pytest

from transformer_mb.parity.measure import error, gradient_errors, random_weights
from transformer_mb.presets import PRESETS, RECIPES
from transformer_mb.trainer import Batch
from transformer_mb.training import TrainingRecipe

SMALL = {
    "num_hiddens": 8,
    "ffn_num_hiddens": 12,
    "encoder_num_heads": 2,
    "decoder_num_heads": 2,
    "encoder_num_layers": 2,
    "decoder_num_layers": 2,
    "max_len": 12,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "ffn_dropout": 0.0,
}


def batch_of(config):
    pad, start, end = config.pad_id, config.start_id, config.eos_id
    source, lengths = np.array([[4, 5, 8, 9], [10, 11, pad, pad]]), np.array([4, 2])
    target_in = np.array([[start, 4, 5], [start, 8, pad]])
    return Batch(source, lengths, target_in, np.array([[4, 5, end], [8, end, pad]]), np.array([3, 2]))


@pytest.mark.long  # the parity matrix has these presets too; JAX compiles them for two minutes
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_the_same_mathematics(name, backend, oracle):
    config, recipe = PRESETS[name](13, 13, **SMALL), TrainingRecipe(**RECIPES[name])
    batch, options = batch_of(config), {"normalization": recipe.normalization, "label_smoothing": recipe.label_smoothing}
    found = []
    for each in (backend, oracle):
        model = each.create(config)
        weights = random_weights(each.parameter_shapes(model))
        if config.padding_vector_zero:
            for side in ("encoder", "decoder"):
                weights[f"{side}.embedding.weight"][config.pad_id] = 0.0
        each.set_weights(model, weights)
        logits = each.logits(model, batch.source, batch.source_valid_lens, batch.target_in)
        loss, gradients = each.loss_and_gradients(model, *batch, **options)
        each.trainer(model, **recipe.trainer_options()).step(batch)
        found.append((logits, loss, gradients, each.get_weights(model), weights))
    (logits, loss, gradients, after, _), (exact, exact_loss, exact_gradients, exact_after, before) = found
    assert error(logits, exact) <= 1e-11
    assert loss == pytest.approx(exact_loss, rel=1e-11)
    assert gradient_errors(gradients, exact_gradients) <= 1e-10
    # Adam turns gradients that are zero in theory into whole steps: only weights whose gradient is above rounding.
    for key, gradient in exact_gradients.items():
        real = np.abs(gradient) > 1e-9
        np.testing.assert_allclose((after[key] - before[key])[real], (exact_after[key] - before[key])[real], rtol=1e-4)
