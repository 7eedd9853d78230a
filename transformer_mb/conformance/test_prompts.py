"""A decoder alone continues prompts: what it gives is what whole forward passes without a cache give, row by row."""

from itertools import product

import numpy as np
import pytest

from transformer_mb.errors import ConfigError, ShapeError, TokenError
from transformer_mb.parity.rows.model_cases import DECODER, ENCODER

PROMPTS = np.array([[2, 5, 6, 7, 9], [2, 8, 0, 0, 0], [4, 0, 0, 0, 0], [2, 9, 4, 12, 0]])
LENS = np.array([5, 2, 1, 4])
STEPS = 6
CONFIGS = {
    "pre-norm": DECODER,
    "learned positions": DECODER.replace(position="learned", position_offset=2, norm_position="post"),
}


@pytest.fixture(scope="module", params=CONFIGS)
def model(request, backend):
    return built(backend, CONFIGS[request.param])


def built(backend, config):
    """With large weights, so that it does not repeat one token for ever."""
    model = backend.build(config, seed=31)
    weights = backend.get_weights(model)
    for name, value in weights.items():
        weights[name] = value * 4.0 if value.ndim == 2 and "embedding" not in name else value
    backend.set_weights(model, weights)
    return model


def last_logits(backend, model, sequences):
    """Of each sequence those of the token to come; what follows is not seen."""
    target = np.zeros((len(sequences), PROMPTS.shape[1] + STEPS), int)
    for row, sequence in zip(target, sequences, strict=True):
        row[: len(sequence)] = sequence
    logits = backend.logits(model, None, target)[range(len(sequences)), [len(ids) - 1 for ids in sequences]]
    logits[:, list(model.config.suppress_ids)] = -np.inf
    return logits


def greedy_without_cache(backend, model, steps):
    sequences = [row[:length].tolist() for row, length in zip(PROMPTS, LENS, strict=True)]
    for _ in range(steps):
        best = last_logits(backend, model, sequences).argmax(axis=-1)
        sequences = [[*ids, int(token)] for ids, token in zip(sequences, best, strict=True)]
    rows = [ids[length:] for ids, length in zip(sequences, LENS, strict=True)]
    eos = model.config.eos_id
    return [row[: row.index(eos)] if eos in row else row for row in rows]


def test_greedy_continues_ragged_prompts(model, backend, in_reference):
    got = backend.greedy(model, PROMPTS, LENS, STEPS)
    assert got == greedy_without_cache(*in_reference(model), STEPS)
    unread = np.where(np.arange(PROMPTS.shape[1]) < LENS[:, None], PROMPTS, 11)
    assert backend.greedy(model, unread, LENS, STEPS) == got
    assert len({tuple(row) for row in got}) > 2 and any(len(set(row)) > 2 for row in got)


@pytest.mark.long
def test_a_prompt_alone_gives_what_it_gives_among_others(backend):
    model = built(backend, CONFIGS["learned positions"])
    alone = PROMPTS[1:2, : LENS[1]]
    for search, options in ((backend.greedy, {}), (backend.beam, {"beam": 3})):
        together = search(model, PROMPTS, LENS, STEPS, **options)
        assert search(model, alone, None, STEPS, **options) == search(model, alone, [2], STEPS, **options) == together[1:2]


def ending(reference):
    """A model that suppresses what it would begin a row with, and that ends some rows: found by whole passes."""
    model = built(reference, DECODER)
    weights, rows = reference.get_weights(model), greedy_without_cache(reference, model, STEPS)
    for suppressed, eos in product((row[0] for row in rows if row), range(4, 13)):
        if suppressed != eos:
            model = reference.create_empty(DECODER.replace(eos_id=eos, suppress_ids=(suppressed,)))
            reference.set_weights(model, weights)
            expected = greedy_without_cache(reference, model, STEPS)
            if sum(0 < len(row) < STEPS for row in expected) > 1:
                return model.config, weights, expected
    raise AssertionError("no model ends")


def test_eos_ends_a_row_and_suppressed_tokens_are_not_produced(backend, reference):
    config, weights, expected = ending(reference)
    model = backend.create_empty(config)
    backend.set_weights(model, weights)
    assert backend.greedy(model, PROMPTS, LENS, STEPS) == expected


def test_a_wide_beam_finds_the_best_continuation(backend, in_reference):
    """Three steps over a small vocabulary: every sequence is scored by hand, none scores higher."""
    model = backend.build(DECODER.replace(target_vocab_size=5, suppress_ids=(0, 1)), seed=5)
    prompts, lens, eos = np.array([[2, 4, 2], [4, 0, 0]]), [3, 1], 3
    continuations = [list(tokens) for length in range(4) for tokens in product((2, 4), repeat=length)]
    got = backend.beam(model, prompts, lens, 3, beam=8, length_penalty=0.6)
    for row, length in enumerate(lens):
        prompt, scores = prompts[row, :length].tolist(), []
        for tokens in continuations:
            path = [*tokens, eos][:3]
            before = [[*prompt, *path[:i]] for i in range(3)]
            logits = last_logits(*in_reference(model), before)
            log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
            total = sum(log_probs[i, token] for i, token in enumerate(path))
            scores.append(total / ((5 + len(path)) / 6) ** 0.6)
        assert got[row] == continuations[int(np.argmax(scores))]


def test_the_first_position_is_the_first_after_left_padding(backend):
    """By the native decoder itself: a padded row's logits are those of the row without."""
    model = built(backend, CONFIGS["learned positions"])
    padded = np.array([[7, 7, 2, 5], [2, 8, 9, 4]])
    state = backend.apply(model.decoder.init_state, None, None, 6, np.array([2, 0]))
    logits, _ = backend.apply(model.decoder, padded, state)
    expected = backend.logits(model, None, padded[:1, 2:])
    np.testing.assert_allclose(logits[:1, 2:], expected, rtol=1e-10, atol=1e-12)
    assert np.isfinite(logits).all()


@pytest.mark.long
def test_no_step_is_left_over(backend):
    """The last token is not fed: a prompt of five takes positions 0 to 4, and 16 more tokens follow in 20."""
    model = backend.build(DECODER, seed=7)
    weights = backend.get_weights(model)
    weights["decoder.dense.bias"][DECODER.eos_id] = -1e3
    backend.set_weights(model, weights)
    assert [len(row) for row in backend.greedy(model, PROMPTS, LENS, 16)] == [16] * 4
    with pytest.raises(TokenError, match="max_steps must be from 1 to max_len = 20 - 4, which a prompt of 5 tokens.*got 17"):
        backend.greedy(model, PROMPTS, LENS, 17)


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_prompts_that_a_search_cannot_continue_are_refused(search, backend):
    model = backend.build(DECODER, seed=0)
    call = getattr(backend, search)
    for prompt, lens, kind, words in (
        ([[2, 13]], None, TokenError, "prompt must hold token ids from 0 to 12, got 13"),
        ([[2, 5], [2, 6]], [2, 0], TokenError, r"must have at least one token, such as <bos>, got valid_lens \[2, 0\]"),
        ([2, 5], None, ShapeError, r"prompt must have shape \[B, steps\]"),
        (None, None, ShapeError, r"prompt must have shape \[B, steps\]"),
    ):
        with pytest.raises(kind, match=words):
            call(model, prompt, lens, 3)
    with pytest.raises(ConfigError, match=f"{search} needs a model with decoder, but the architecture is encoder"):
        call(backend.build(ENCODER, seed=0), PROMPTS, LENS, 3)
    book = backend.create_empty(DECODER.replace(compat_decode="d2l"))
    with pytest.raises(ConfigError, match=f"compat_decode must be 'correct' for {search} of a decoder alone"):
        call(book, PROMPTS, LENS, 3)
