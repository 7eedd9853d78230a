"""Training and evaluation mode, where a model has one: a call evaluates, and leaves the model and its parts as they were."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.conformance.small_models import ONE_LAYER, THE_BATCH
from transformer_mb.dropout_masks import dropout_masks
from transformer_mb.errors import TransformerMBError
from transformer_mb.parity.rows.model_cases import BATCH

SOURCE, LENS, TARGET = BATCH["source"], BATCH["source_valid_lens"], BATCH["target_in"]
SAMPLING = tmb.Sampling()
CALLS = {
    "encode": lambda backend, model: backend.encode(model, SOURCE, LENS),
    "logits": lambda backend, model: backend.logits(model, SOURCE, TARGET, LENS),
    "attention": lambda backend, model: backend.attention(model, SOURCE, TARGET, LENS)["decoder_cross"],
    "losses": lambda backend, model: backend.losses(model, THE_BATCH),
    "gradients": lambda backend, model: backend.loss_and_gradients(model, THE_BATCH)[0],
    "greedy": lambda backend, model: backend.greedy(model, SOURCE, LENS, 3),
    "sample": lambda backend, model: backend.sample(model, SOURCE, LENS, 3, SAMPLING),
    "beam": lambda backend, model: backend.beam(model, SOURCE, LENS, 3, beam=2),
    "hypotheses": lambda backend, model: backend.hypotheses(model, SOURCE, LENS, 3, beam=2),
    "one hypothesis": lambda backend, model: backend.hypotheses(model, SOURCE, LENS, 3, beam=1),
    "coverage": lambda backend, model: backend.hypotheses(model, SOURCE, LENS, 3, beam=2, coverage_penalty=0.5),
}


def modes(model):
    """That of each part by name, as the framework has it."""
    if hasattr(model, "named_sublayers"):
        parts = model.named_sublayers(include_self=True)
    elif hasattr(model, "named_modules"):
        parts = model.named_modules()
    elif hasattr(model, "named_layers"):
        parts = model.named_layers()
    else:  # flax
        parts = model.iter_modules()
    names = ("training", "deterministic")
    return {path: getattr(part, name) for path, part in parts for name in names if hasattr(part, name)}


@pytest.fixture(scope="module", params=[True, False], ids=["all but a part", "a part"])
def training(request, backend):
    """A model in training but for one part of it, or in evaluation but for that part."""
    model = backend.build(ONE_LAYER.replace(dropout=0.5), seed=11)
    if not hasattr(model, "train"):
        pytest.skip("models of this framework keep no mode: each call says whether it trains")
    model.train() if request.param else model.eval()
    model.encoder.eval() if request.param else model.encoder.train()
    assert len(set(modes(model).values())) == 2
    return model


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_evaluates_and_leaves_every_part_in_its_mode(call, training, backend):
    before = modes(training)
    answer = call(backend, training)
    assert modes(training) == before
    evaluating = backend.from_weights(training.config, backend.get_weights(training))
    np.testing.assert_equal(answer, call(backend, evaluating))


def test_training_with_masks_leaves_every_part_in_its_mode(training, backend):
    before = modes(training)
    masks = dropout_masks(training.config, 0, 0, len(SOURCE), SOURCE.shape[1], TARGET.shape[1])
    backend.loss_and_gradients(training, THE_BATCH, dropout_masks=masks)
    assert modes(training) == before


def test_a_refused_search_leaves_the_mode(training, backend):
    before = modes(training)
    refused = [
        {"max_steps": 0},
        {"max_steps": 3, "beam": 0},
        {"max_steps": 3, "coverage_penalty": -1.0},
        {"max_steps": 3, "source_valid_lens": LENS + 100},
    ]
    for options in refused:
        with pytest.raises(TransformerMBError):
            backend.beam(training, SOURCE, **options)
        assert modes(training) == before


def test_a_search_that_fails_amid_its_steps_leaves_the_mode(training, backend):
    """As weights do that are no numbers any more."""
    before, weights = modes(training), backend.get_weights(training)
    backend.set_weights(training, {name: np.full_like(array, np.nan) for name, array in weights.items()})
    try:
        with pytest.raises(TransformerMBError):
            backend.beam(training, SOURCE, LENS, 3, beam=2)
    finally:
        backend.set_weights(training, weights)
    assert modes(training) == before
