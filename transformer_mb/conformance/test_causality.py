"""What may influence what: the future never, padding never, other rows of the batch never."""

import numpy as np
import pytest

from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.parity.rows.model_cases import BATCH, DECODER
from transformer_mb.parity.verdict.limits import error

SOURCE, LENS = BATCH["source"], BATCH["source_valid_lens"]
INPUTS = (SOURCE, BATCH["target_in"], LENS)


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(ONE_LAYER, seed=2)


def with_last_token_changed():
    target = BATCH["target_in"].copy()
    target[:, -1] = (target[:, -1] + 5) % 13
    return target


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_the_future_is_not_seen(training, backend):
    model = backend.build(ONE_LAYER.replace(dropout=0.0), seed=2)
    target = with_last_token_changed()
    before = backend.apply(model, BATCH["source"], BATCH["target_in"], BATCH["source_valid_lens"], training=training)[0]
    after = backend.apply(model, BATCH["source"], target, BATCH["source_valid_lens"], training=training)[0]
    assert error(after[:, :-1], before[:, :-1]) <= 1e-14
    assert error(after[:, -1], before[:, -1]) > 1e-3


def test_the_future_is_not_seen_without_an_encoder(backend):
    model = backend.build(DECODER, seed=2)
    before = backend.logits(model, None, BATCH["target_in"])
    after = backend.logits(model, None, with_last_token_changed())
    assert error(after[:, :-1], before[:, :-1]) <= 1e-14
    assert error(after[:, -1], before[:, -1]) > 1e-3


def test_the_past_is_seen(model, backend):
    target = BATCH["target_in"].copy()
    target[:, 0] = 7
    changed = backend.logits(model, SOURCE, target, LENS)
    assert error(changed[:, -1], backend.logits(model, *INPUTS)[:, -1]) > 1e-3


def test_source_padding_is_not_seen(model, backend):
    source = BATCH["source"].copy()
    source[1, 2:] = 9
    before = backend.logits(model, *INPUTS)
    assert error(backend.logits(model, source, *INPUTS[1:]), before) <= 1e-14
    source[1, 1] = 9
    assert error(backend.logits(model, source, *INPUTS[1:])[1], before[1]) > 1e-3


def test_rows_do_not_influence_each_other(model, backend):
    whole = backend.logits(model, *INPUTS)
    alone = backend.logits(model, *(array[1:2] for array in INPUTS))
    assert error(alone[0], whole[1]) <= 1e-13


def test_true_positions(model, backend):
    """The same token twice gives other logits: its position counts."""
    logits = backend.logits(model, SOURCE, np.full((3, 4), 5), LENS)
    assert error(logits[:, 1], logits[:, 0]) > 1e-3


def test_d2l_compatibility_in_evaluation(backend):
    """The book's code: no causal mask in evaluation, and the last token then changes the first logits."""
    model = backend.build(ONE_LAYER.replace(compat_decode="d2l"), seed=2)
    before = backend.logits(model, *INPUTS)
    after = backend.logits(model, SOURCE, with_last_token_changed(), LENS)
    assert error(after[:, 0], before[:, 0]) > 1e-4


@pytest.mark.long
def test_d2l_compatibility_does_not_touch_training(backend, model):
    compatible = backend.build(ONE_LAYER.replace(compat_decode="d2l", dropout=0.0), seed=2)
    correct = backend.build(ONE_LAYER.replace(dropout=0.0), seed=2)
    arguments = (BATCH["source"], BATCH["target_in"], BATCH["source_valid_lens"])
    got, expected = (backend.apply(m, *arguments, training=True)[0] for m in (compatible, correct))
    np.testing.assert_array_equal(got, expected)
    assert error(backend.apply(compatible, *arguments)[0], expected) > 1e-4
