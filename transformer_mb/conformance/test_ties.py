"""Of equal logits the lowest id wins: exact ties, made with output weights of which each logit is one product or none."""

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN, PLAIN_DTYPES
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.decoding.sampling import Sampling
from transformer_mb.parity.rows.model_cases import BATCH
from transformer_mb.registry import get_backend

SOURCE, LENS = BATCH["source"], BATCH["source_valid_lens"]
# The same sizes everywhere, so that a compiler works once. Two steps: the sum of two numbers is the same in either order.
ROWS, BEAM, STEPS = len(SOURCE), 4, 2
COUNT = BEAM + 1
SUPPRESSED = (0, 1, 4)
CONFIG = ONE_LAYER.replace(suppress_ids=SUPPRESSED)
WIDTH = CONFIG.num_hiddens


@pytest.fixture(scope="module")
def tied_model():
    """Without groups all logits are the biases; with them each is one of so many hidden features, and many share one.

    One model for each vocabulary and dtype, which gets other weights from each test: what is compiled for it stays.
    """
    models = {}

    def tied(backend, vocabulary=13, bias=0.0, groups=0):
        key = str(backend.dtype), vocabulary
        if key not in models:
            models[key] = backend.build(CONFIG.replace(target_vocab_size=vocabulary), seed=11)
        weights = backend.get_weights(models[key])
        weights["decoder.dense.weight"] = np.zeros((vocabulary, WIDTH), np.float32)
        if groups:
            weights["decoder.dense.weight"][np.arange(vocabulary), np.arange(vocabulary) % groups] = 2.0
        weights["decoder.dense.bias"] = np.broadcast_to(np.float32(bias), vocabulary).copy()
        backend.set_weights(models[key], weights)
        return models[key]

    return tied


def first_step(backend, model):
    """Log-probabilities and ids [ROWS, COUNT]: all rows of a source are alike."""
    inputs, steps = backend._decoding_inputs(model, "beam", SOURCE, LENS, STEPS)
    with backend._decoding(model):
        session = backend.start_beam(model, inputs, int(steps.max()), BEAM)
        log_probs, ids = session.step(np.repeat(inputs.tokens, BEAM), COUNT)
    np.testing.assert_array_equal(ids, np.repeat(ids[::BEAM], BEAM, axis=0))
    return log_probs[::BEAM], ids[::BEAM]


def check_groups(backend, model, groups):
    """The winner and its ties change from row to row, and suppressed tokens tie with them."""
    logits = backend.logits(model, SOURCE, np.full((ROWS, 1), CONFIG.start_id), LENS)[:, 0].astype(np.float64)
    assert len(np.unique(logits[0])) == groups
    logits[:, list(SUPPRESSED)] = -np.inf
    expected = np.argsort(-logits, axis=1, kind="stable")  # the highest first, of equal ones the lowest id
    np.testing.assert_array_equal(first_step(backend, model)[1], expected[:, :COUNT])
    for rows in (backend.greedy(model, SOURCE, LENS, STEPS), backend.sample(model, SOURCE, LENS, STEPS, Sampling(top_k=1))):
        assert [row[0] if row else CONFIG.eos_id for row in rows] == expected[:, 0].tolist()


def searched(logits, length_penalty):
    """A beam search by its definition where every step has the same logits [V]: the ids, the best first."""
    allowed = [token for token in range(len(logits)) if token not in SUPPRESSED]
    log_probs = logits - np.log(np.exp(logits[allowed]).sum())
    open_ones, finished = [((), 0.0)], []
    for length in range(1, STEPS + 1):
        candidates = [((*ids, token), total + log_probs[token]) for ids, total in open_ones for token in allowed]
        # Stable, so of equal ones the better-ranked hypothesis first; of one hypothesis's the lower id.
        candidates.sort(key=lambda one: -one[1])
        penalty = ((5 + length) / 6) ** length_penalty
        finished += [(ids, total / penalty) for ids, total in candidates if ids[-1] == CONFIG.eos_id or length == STEPS]
        open_ones = [one for one in candidates if one[0][-1] != CONFIG.eos_id][:BEAM]
    finished.sort(key=lambda one: -one[1])
    return [[*ids] if ids[-1] != CONFIG.eos_id else [*ids[:-1]] for ids, _ in finished[:BEAM]]


@pytest.mark.long(but=1)
@pytest.mark.parametrize("vocabulary", [5, 40000])
def test_all_logits_equal(vocabulary, backend32, tied_model):
    model = tied_model(backend32, vocabulary, bias=0.5)
    allowed = [token for token in range(vocabulary) if token not in SUPPRESSED]
    log_probs, ids = first_step(backend32, model)
    shown = len(allowed[:COUNT])
    assert (log_probs.dtype, log_probs.shape, ids.shape) == (np.float64, (ROWS, COUNT), (ROWS, COUNT))
    np.testing.assert_array_equal(ids[:, :shown], [allowed[:shown]] * ROWS)
    np.testing.assert_allclose(log_probs[:, :shown], -np.log(len(allowed)), rtol=1e-5)
    assert (log_probs[:, shown:] == -np.inf).all()
    assert backend32.greedy(model, SOURCE, LENS, STEPS) == [[2] * STEPS] * ROWS


@pytest.mark.long(but=1)
@pytest.mark.parametrize("vocabulary", [13, 40000])
def test_tokens_are_drawn_from_the_lowest_of_equals(vocabulary, backend32, tied_model):
    """Three fifths of the logits are equal, and what sorts them may leave them in any order."""
    model = tied_model(backend32, vocabulary, bias=np.where(np.arange(vocabulary) % 5 < 3, 0.5, -0.5))
    drawn = [backend32.sample(model, SOURCE, LENS, STEPS, Sampling(top_k=3, seed=seed)) for seed in range(8)]
    assert {token for rows in drawn for row in rows for token in row} == {2, 5, 6}


def test_ties_in_products_of_whole_numbers(backend32, tied_model):
    """Where a backend has them: its output layer and its steps are then others."""
    if backend32.name not in BUILT_IN or "int8" not in BUILT_IN[backend32.name].on_cpu:
        pytest.skip("the backend has none")
    model = backend32.quantized(tied_model(backend32, 13, bias=0.5))
    np.testing.assert_array_equal(first_step(backend32, model)[1], [[2, 3, 5, 6, 7]] * ROWS)
    for rows in (backend32.greedy(model, SOURCE, LENS, STEPS), backend32.sample(model, SOURCE, LENS, STEPS, Sampling(top_k=1))):
        assert rows == [[2] * STEPS] * ROWS


@pytest.mark.two_bytes
@pytest.mark.long
def test_log_probabilities_have_float32s_digits_in_every_dtype(backend, backend_name, tied_model):
    """Ten tokens of one probability: a tenth, of which two bytes hold three digits."""
    assert {*PLAIN_DTYPES} <= set(backend.dtypes)
    for dtype in backend.dtypes:
        chosen = get_backend(backend_name, dtype=dtype)
        log_probs, _ = first_step(chosen, tied_model(chosen))
        np.testing.assert_allclose(log_probs, np.log(0.1), rtol=1e-6, err_msg=dtype)


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("vocabulary", "groups"), [(13, 2), (13, 5), (40000, 3)])
def test_groups_of_equal_logits(vocabulary, groups, backend32, tied_model):
    check_groups(backend32, tied_model(backend32, vocabulary, groups=groups), groups)


@pytest.mark.long
@pytest.mark.two_bytes
def test_groups_in_every_dtype(backend, backend_name, tied_model):
    """In formats of two bytes most of a large vocabulary ties without anybody's doing."""
    assert {*PLAIN_DTYPES} <= set(backend.dtypes)
    for dtype in backend.dtypes:
        chosen = get_backend(backend_name, dtype=dtype)
        check_groups(chosen, tied_model(chosen, groups=WIDTH), WIDTH)


def test_both_zeros_are_equal(backend32, tied_model):
    """What orders numbers by their bits takes -0.0 for the smaller one."""
    model = tied_model(backend32, bias=np.where(np.arange(13) % 2, 0.0, -0.0))
    np.testing.assert_array_equal(first_step(backend32, model)[1], [[2, 3, 5, 6, 7]] * ROWS)


BEST_OF_SEVEN = np.where(np.isin(np.arange(13), [2, 5, 6, 8, 9, 11, 12]), 4.0, np.where(np.arange(13) == 3, 2.0, -1.0))
BIASES = {
    "all equal": np.zeros(13),
    "seven at the boundary of four": BEST_OF_SEVEN,
    "two levels, so that paths tie in another order": np.where(np.arange(13) == 7, 1.0, np.where(np.arange(13) < 6, 0.5, -2.0)),
    "eos ties with the best": np.where(np.isin(np.arange(13), [3, 8, 12]), 1.0, -1.0),
}


@pytest.mark.long(but=2)
@pytest.mark.parametrize("length_penalty", [0.0, 0.6])
@pytest.mark.parametrize("name", BIASES)
def test_ties_between_hypotheses(name, length_penalty, backend32, tied_model):
    """Paths of the same tokens in another order tie exactly."""
    expected = searched(BIASES[name], length_penalty)
    model = tied_model(backend32, bias=BIASES[name])
    found = backend32.hypotheses(model, SOURCE, LENS, STEPS, BEAM, length_penalty)
    assert [[one.ids for one in row] for row in found] == [expected] * ROWS
    assert backend32.beam(model, SOURCE, LENS, STEPS, BEAM, length_penalty) == [expected[0]] * ROWS
