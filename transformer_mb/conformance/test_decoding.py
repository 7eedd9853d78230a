"""Cached decoding equals no cache; greedy and beam search mean what they say."""

from itertools import product

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import ConfigError
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS, DECODER
from transformer_mb.parity.verdict.limits import error

SOURCE, LENS = BATCH["source"], BATCH["source_valid_lens"]
STEPS = 7


def fed_in_pieces(backend, decoder, state, target, cuts):
    pieces = []
    for piece in np.split(target, cuts, axis=1):
        logits, state = backend.apply(decoder, piece, state)
        pieces.append(logits)
    return np.concatenate(pieces, axis=1)


def test_products_of_whole_numbers_are_there_or_refused(backend32):
    model = backend32.build(ONE_LAYER, seed=3)
    try:
        narrow = backend32.quantized(model)
    except ConfigError as refusal:
        assert str(refusal).startswith(f"int8 must be decoded with backend torch or numpy, got {backend32.name}")
        assert backend32.name not in BUILT_IN or "int8" not in BUILT_IN[backend32.name].on_cpu
        return
    exact, near = (backend32.logits(one, SOURCE, BATCH["target_in"], LENS) for one in (model, narrow))
    assert 1e-5 < error(near, exact) <= 0.05


@pytest.mark.long(but=2)
@pytest.mark.parametrize("cuts", [[1, 2, 3], [1, 3]], ids=str)
@pytest.mark.parametrize("name", ["d2l", "pre-norm, final norm", "learned positions, tied"])
def test_cache_equals_no_cache(name, cuts, backend):
    model = backend.build(CONFIGS[name], seed=3)
    whole = backend.logits(model, SOURCE, BATCH["target_in"], LENS)
    state = [backend.encode(model, SOURCE, LENS), LENS, [None, None]]
    assert error(fed_in_pieces(backend, model.decoder, state, BATCH["target_in"], cuts), whole) <= 1e-13


def test_cache_equals_no_cache_without_an_encoder(backend):
    model = backend.build(DECODER, seed=3)
    whole = backend.logits(model, None, BATCH["target_in"])
    got = fed_in_pieces(backend, model.decoder, [None, None, [None, None]], BATCH["target_in"], [1, 2, 3])
    assert error(got, whole) <= 1e-13


def test_a_state_is_left_as_it_was(model, backend):
    state = [backend.encode(model, SOURCE, LENS), LENS, [None, None]]
    first, after = backend.apply(model.decoder, BATCH["target_in"], state)
    assert state[2] == [None, None] and after[2] != [None, None]
    again, _ = backend.apply(model.decoder, BATCH["target_in"], state)
    np.testing.assert_array_equal(again, first)


def greedy_without_cache(backend, model, max_steps):
    """Each token from a whole forward pass."""
    config = model.config
    target = np.full((len(SOURCE), max_steps + 1), config.start_id)
    for step in range(max_steps):
        logits = backend.logits(model, SOURCE, target[:, :-1], LENS)[:, step]
        logits[:, list(config.suppress_ids)] = -np.inf
        target[:, step + 1] = logits.argmax(axis=-1)
    rows = target[:, 1:].tolist()
    return [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]


# What a cache can get wrong: positions, tables, norms before the blocks, sides of different depth. What a sublayer computes
# of one token is the same with a cache and without, and the matrix decodes the others.
CACHED = ["d2l", "pre-norm, final norm", "silu, uneven sides", "learned positions, tied", "shared and tied, padding"]


@pytest.mark.long(but=2)
@pytest.mark.parametrize("name", CACHED)
def test_greedy(name, backend, in_reference):
    model = backend.build(CONFIGS[name], seed=11)
    got = backend.greedy(model, SOURCE, LENS, STEPS)
    assert got == greedy_without_cache(*in_reference(model), STEPS)
    assert len(got) == 3 and max(map(len, got)) > 0


def test_greedy_never_produces_suppressed_tokens(model, backend, in_reference):
    favourites = {row[0] for row in backend.greedy(model, SOURCE, LENS, STEPS) if row}
    assert favourites
    other = backend.create_empty(model.config.replace(suppress_ids=tuple(favourites)))
    backend.set_weights(other, backend.get_weights(model))
    got = backend.greedy(other, SOURCE, LENS, STEPS)
    assert got == greedy_without_cache(*in_reference(other), STEPS)
    assert not favourites & {token for row in got for token in row}


def test_greedy_stops_at_eos(backend):
    """With an output bias that favours eos, nothing is generated; with one against it, every step is."""
    model = backend.build(ONE_LAYER, seed=11)
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


def log_probabilities(backend, model, source, lens, hypotheses, max_steps):
    """By whole forward passes: of each hypothesis the log probability, and how many steps it is made of."""
    config = model.config
    paths = [[*tokens, config.eos_id][:max_steps] for tokens in hypotheses]
    target = np.array([[config.start_id, *path[:-1], *[config.eos_id] * (max_steps - len(path))] for path in paths])
    logits = backend.logits(model, source, target, lens)
    logits[..., list(config.suppress_ids)] = -np.inf
    log_probs = logits - logits.max(-1, keepdims=True)
    log_probs -= np.log(np.exp(log_probs).sum(-1, keepdims=True))
    return [(sum(row[range(len(path)), path]), len(path)) for row, path in zip(log_probs, paths, strict=True)]


def test_beam_of_one_is_greedy(model, backend):
    assert backend.beam(model, SOURCE, LENS, STEPS, beam=1, length_penalty=0.0) == backend.greedy(model, SOURCE, LENS, STEPS)


def test_a_wide_beam_finds_the_best_sequence(backend, in_reference):
    """Three steps over a small vocabulary: every sequence is scored by hand, none scores higher."""
    model = backend.build(ONE_LAYER.replace(target_vocab_size=5, suppress_ids=(0, 1)), seed=5)
    sequences = [list(tokens) for length in range(4) for tokens in product((2, 4), repeat=length)]
    got = backend.beam(model, SOURCE, LENS, 3, beam=8, length_penalty=0.6)
    for row in range(3):
        source, lens = (np.repeat(array[row : row + 1], len(sequences), axis=0) for array in (SOURCE, LENS))
        scored = log_probabilities(*in_reference(model), source, lens, sequences, 3)
        scores = [total / ((5 + length) / 6) ** 0.6 for total, length in scored]
        assert got[row] == sequences[int(np.argmax(scores))]


def test_beam_scores_at_least_greedy(model, backend, in_reference):
    wide = backend.beam(model, SOURCE, LENS, STEPS, beam=6, length_penalty=0.0)
    narrow = backend.greedy(model, SOURCE, LENS, STEPS)
    scores = [log_probabilities(*in_reference(model), SOURCE, LENS, each, STEPS) for each in (wide, narrow)]
    for (best, _), (greedy, _) in zip(*scores, strict=True):
        assert best >= greedy - 1e-12


def test_d2l_compatibility_decodes_at_position_0(backend, model):
    """Step by step, each token at position 0, attending to all earlier ones: the book's predictor."""
    compatible = backend.create_empty(model.config.replace(compat_decode="d2l"))
    backend.set_weights(compatible, backend.get_weights(model))
    state = [backend.encode(compatible, SOURCE, LENS), LENS, [None, None]]
    token, rows = np.full((3, 1), 2), []
    for _ in range(4):
        logits, state = backend.apply(compatible.decoder, token, state)
        token = logits.argmax(-1)
        rows.append(token[:, 0])
    expected = [row[: row.index(3)] if 3 in row else row for row in np.stack(rows, axis=1).tolist()]
    assert backend.greedy(compatible, SOURCE, LENS, 4) == expected
    at_zero, _ = backend.apply(compatible.decoder, np.full((3, 1), 5), state)
    moved, _ = backend.apply(model.decoder, np.full((3, 1), 5), state)
    assert error(at_zero, moved) > 1e-4
