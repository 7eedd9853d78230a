"""Cached decoding equals no cache; greedy and beam search mean what they say."""

import numpy as np
import pytest

from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, DECODER
from transformer_mb.parity.verdict.measure import error

SOURCE, LENS = BATCH["source"], BATCH["source_valid_lens"]
STEPS = 7


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(CONFIGS["d2l"], seed=11)


def fed_in_pieces(backend, decoder, state, target, cuts):
    pieces = []
    for piece in np.split(target, cuts, axis=1):
        logits, state = backend.apply(decoder, piece, state)
        pieces.append(logits)
    return np.concatenate(pieces, axis=1)


@pytest.mark.parametrize("cuts", [[1, 2, 3], [2], [1, 3]], ids=str)
@pytest.mark.parametrize("name", ["d2l", "pre-norm, final norm", "learned positions, tied"])
def test_cache_equals_no_cache(name, cuts, backend):
    model = backend.build(CONFIGS[name], seed=3)
    whole = backend.logits(model, SOURCE, LENS, BATCH["target_in"])
    state = [backend.encode(model, SOURCE, LENS), LENS, [None, None]]
    assert error(fed_in_pieces(backend, model.decoder, state, BATCH["target_in"], cuts), whole) <= 1e-13


def test_cache_equals_no_cache_without_an_encoder(backend):
    model = backend.build(DECODER, seed=3)
    whole = backend.logits(model, None, None, BATCH["target_in"])
    got = fed_in_pieces(backend, model.decoder, [None, None, [None, None]], BATCH["target_in"], [1, 2, 3])
    assert error(got, whole) <= 1e-13


def test_a_state_is_left_as_it_was(model, backend):
    state = [backend.encode(model, SOURCE, LENS), LENS, [None, None]]
    first, after = backend.apply(model.decoder, BATCH["target_in"], state)
    assert state[2] == [None, None] and after[2] != [None, None]
    again, _ = backend.apply(model.decoder, BATCH["target_in"], state)
    np.testing.assert_array_equal(again, first)


def greedy_without_cache(backend, model, max_steps):
    config = model.config
    target = np.full((len(SOURCE), 1), config.start_id)
    for _ in range(max_steps):
        logits = backend.logits(model, SOURCE, LENS, target)[:, -1]
        logits[:, list(config.suppress_ids)] = -np.inf
        target = np.concatenate([target, logits.argmax(axis=-1)[:, None]], axis=1)
    rows = target[:, 1:].tolist()
    return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]


@pytest.mark.parametrize("name", CONFIGS)
def test_greedy(name, backend):
    model = backend.build(CONFIGS[name], seed=11)
    got = backend.greedy(model, SOURCE, LENS, STEPS)
    assert got == greedy_without_cache(backend, model, STEPS)
    assert len(got) == 3 and max(map(len, got)) > 0


def test_greedy_never_produces_suppressed_tokens(model, backend):
    favourites = {row[0] for row in backend.greedy(model, SOURCE, LENS, STEPS) if row}
    assert favourites
    other = backend.create(model.config.replace(suppress_ids=tuple(favourites)))
    backend.set_weights(other, backend.get_weights(model))
    got = backend.greedy(other, SOURCE, LENS, STEPS)
    assert got == greedy_without_cache(backend, other, STEPS)
    assert not favourites & {token for row in got for token in row}


def test_greedy_stops_at_eos(backend):
    """With an output bias that favours eos, nothing is generated; with one against it, every step is."""
    model = backend.build(CONFIGS["d2l"], seed=11)
    weights = backend.get_weights(model)
    weights["decoder.dense.bias"][3] = 1e3
    backend.set_weights(model, weights)
    assert backend.greedy(model, SOURCE, LENS, STEPS) == [[], [], []]
    weights["decoder.dense.bias"][3] = -1e3
    backend.set_weights(model, weights)
    assert [len(row) for row in backend.greedy(model, SOURCE, LENS, STEPS)] == [STEPS] * 3


def test_a_batch_decodes_as_its_rows_do(model, backend):
    whole = backend.greedy(model, SOURCE, LENS, STEPS)
    assert [backend.greedy(model, SOURCE[i : i + 1], LENS[i : i + 1], STEPS)[0] for i in range(3)] == whole


def log_probability(backend, model, tokens, row, max_steps):
    target = np.array([[model.config.start_id, *tokens]])
    logits = backend.logits(model, SOURCE[row : row + 1], LENS[row : row + 1], target)[0]
    log_probs = logits - logits.max(-1, keepdims=True)
    log_probs -= np.log(np.exp(log_probs).sum(-1, keepdims=True))
    path = [*tokens, model.config.eos_id][:max_steps]
    return sum(log_probs[i, token] for i, token in enumerate(path)), len(path)


def test_beam_of_one_is_greedy(model, backend):
    assert backend.beam(model, SOURCE, LENS, STEPS, beam=1, length_penalty=0.0) == backend.greedy(model, SOURCE, LENS, STEPS)


def test_a_wide_beam_finds_the_best_sequence(backend):
    """Three steps over a small vocabulary: every sequence is scored by hand, none scores higher."""
    model = backend.build(CONFIGS["d2l"].replace(target_vocab_size=5, suppress_ids=(0, 1)), seed=5)
    tokens, eos = (2, 4), model.config.eos_id
    endings = [[], *([a] for a in tokens), *([a, b] for a in tokens for b in tokens)]
    full = [[a, b, c] for a in tokens for b in tokens for c in tokens]
    got = backend.beam(model, SOURCE, LENS, 3, beam=8, length_penalty=0.6)
    for row in range(3):
        scores = {}
        for sequence in endings + full:
            target = np.array([[model.config.start_id, *sequence]])
            logits = backend.logits(model, SOURCE[row : row + 1], LENS[row : row + 1], target)[0]
            logits[:, [0, 1]] = -np.inf
            log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            path = [*sequence, eos][:3]
            scores[tuple(sequence)] = sum(log_probs[i, t] for i, t in enumerate(path)) / ((5 + len(path)) / 6) ** 0.6
        assert tuple(got[row]) == max(scores, key=scores.get)


def test_beam_scores_at_least_greedy(model, backend):
    for row, (wide, narrow) in enumerate(
        zip(
            backend.beam(model, SOURCE, LENS, STEPS, beam=6, length_penalty=0.0),
            backend.greedy(model, SOURCE, LENS, STEPS),
            strict=True,
        )
    ):
        assert (
            log_probability(backend, model, wide, row, STEPS)[0]
            >= log_probability(backend, model, narrow, row, STEPS)[0] - 1e-12
        )


def test_d2l_compatibility_decodes_at_position_0(backend, model):
    """Step by step, each token at position 0, attending to all earlier ones: the book's predictor."""
    compatible = backend.create(model.config.replace(compat_decode="d2l"))
    backend.set_weights(compatible, backend.get_weights(model))
    state = [backend.encode(compatible, SOURCE, LENS), LENS, [None, None]]
    token, rows = np.full((3, 1), 2), []
    for _ in range(STEPS):
        logits, state = backend.apply(compatible.decoder, token, state)
        token = logits.argmax(-1)
        rows.append(token[:, 0])
    expected = [row[: row.index(3)] if 3 in row else row for row in np.stack(rows, axis=1).tolist()]
    assert backend.greedy(compatible, SOURCE, LENS, STEPS) == expected
    at_zero, _ = backend.apply(compatible.decoder, np.full((3, 1), 5), state)
    moved, _ = backend.apply(model.decoder, np.full((3, 1), 5), state)
    assert error(at_zero, moved) > 1e-4
