"""Coverage penalty, prefixes, and a limit for each row: against every sequence, scored by whole forward passes."""

from itertools import product

import numpy as np
import pytest

from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.errors import ConfigError, ShapeError, TokenError
from transformer_mb.parity.rows.model_cases import BATCH, DECODER

from .test_decoding import STEPS, log_probabilities

SOURCE, LENS = BATCH["source"], BATCH["source_valid_lens"]
PREFIXES = [[5, 9], [], [4, 4, 7]]
BEST = 3  # steps of the searches over every sequence


@pytest.fixture(scope="module")
def small(backend):
    """Three tokens and the end. Larger cross-attention weights, so that hypotheses differ in what they cover."""
    model = backend.build(ONE_LAYER.replace(target_vocab_size=6, suppress_ids=(0, 1)), seed=5)
    weights = backend.get_weights(model)
    for name in weights:
        if "attention2.W_q" in name or "attention2.W_k" in name:
            weights[name] = weights[name] * 6.0
    backend.set_weights(model, weights)
    return model


def covered(reference, model, source, lens, sequences, steps):
    """Wu et al. 2016, equation 14, without beta, by attention maps of whole sequences: the last block, mean over heads."""
    config = model.config
    paths = [[*tokens, config.eos_id][:steps] for tokens in sequences]
    target = np.array([[config.start_id, *path[:-1], *[config.eos_id] * (steps - len(path))] for path in paths])
    maps = reference.attention(model, source, target, lens)["decoder_cross"][-1].mean(axis=1)  # [B, T, S]
    shares = [maps[row, : len(path), : lens[row]].sum(axis=0) for row, path in enumerate(paths)]
    return [np.log(np.minimum(share, 1.0)).sum() for share in shares]


def scored(reference, model, row, sequences, beta, alpha=0.6, prefix=()):
    """The score of each sequence, which begins with the prefix; the prefix's tokens give no probability and no length."""
    source, lens = (np.repeat(array[row : row + 1], len(sequences), axis=0) for array in (SOURCE, LENS))
    totals = log_probabilities(reference, model, source, lens, sequences, BEST + len(prefix))
    before = log_probabilities(reference, model, source[:1], lens[:1], [list(prefix)], len(prefix))[0][0] if prefix else 0.0
    coverage = covered(reference, model, source, lens, sequences, BEST + len(prefix))
    return [
        (total - before) / ((5 + length - len(prefix)) / 6) ** alpha + beta * cp
        for (total, length), cp in zip(totals, coverage, strict=True)
    ]


def all_sequences(prefix=()):
    return [[*prefix, *tokens] for length in range(BEST + 1) for tokens in product((2, 4, 5), repeat=length)]


@pytest.mark.long(but=1)
@pytest.mark.parametrize("beta", [0.0, 0.4, 3.0])
def test_a_wide_beam_finds_the_best_covered_sequence(beta, small, backend, in_reference):
    got = backend.hypotheses(small, SOURCE, LENS, BEST, 27, coverage_penalty=beta)
    assert [row[0].ids for row in got] == backend.beam(small, SOURCE, LENS, BEST, 27, coverage_penalty=beta)
    for row in range(3):
        sequences = all_sequences()
        scores = scored(*in_reference(small), row, sequences, beta)
        assert got[row][0].ids == sequences[int(np.argmax(scores))]
        assert got[row][0].score == pytest.approx(np.max(scores), rel=1e-5)


def test_the_penalty_decides(small, backend):
    """Else the test above could not fail."""
    plain, other = (backend.beam(small, SOURCE, LENS, BEST, 27, coverage_penalty=beta) for beta in (0.0, 3.0))
    assert plain != other


def test_greedy_hypotheses_have_the_penalty_in_their_score(small, backend, in_reference):
    rows = backend.hypotheses(small, SOURCE, LENS, BEST, 1, coverage_penalty=0.4)
    plain = backend.hypotheses(small, SOURCE, LENS, BEST, 1)
    for row, ((found,), (without,)) in enumerate(zip(rows, plain, strict=True)):
        assert found.ids == without.ids
        assert found.log_probability == pytest.approx(without.log_probability, rel=1e-12)
        assert found.score == pytest.approx(scored(*in_reference(small), row, [found.ids], 0.4)[0], rel=1e-5)


@pytest.mark.long
def test_coverage_of_a_source_without_tokens_is_nothing(small, backend):
    """And padding is not to be covered."""
    lens = [0, 2, 3]
    with_penalty, without = (backend.hypotheses(small, SOURCE, lens, BEST, 2, coverage_penalty=beta) for beta in (2.0, 0.0))
    for one, other in zip(with_penalty[0], without[0], strict=True):
        assert one.ids == other.ids and one.score == pytest.approx(other.score, rel=1e-12)
    assert with_penalty[1][0].score < without[1][0].score
    wider = np.pad(SOURCE[:, :3], ((0, 0), (0, 4)), constant_values=1)
    assert backend.beam(small, wider, lens, BEST, 4, coverage_penalty=2.0) == backend.beam(
        small, SOURCE, lens, BEST, 4, coverage_penalty=2.0
    )


def test_greedy_continues_prefixes(model, backend, in_reference):
    """Token by token from whole forward passes, each row from its own prefix on."""
    got = backend.greedy(model, SOURCE, LENS, STEPS, prefixes=PREFIXES)
    rows = [list(prefix) for prefix in PREFIXES]
    config, (reference, copy) = model.config, in_reference(model)
    for _ in range(STEPS):
        target = np.array([[config.start_id, *row, *[0] * (STEPS - len(row))] for row in rows])
        logits = reference.logits(copy, SOURCE, target[:, :STEPS], LENS)
        logits[..., list(config.suppress_ids)] = -np.inf
        for number, row in enumerate(rows):
            if len(row) < STEPS and config.eos_id not in row:
                row.append(int(logits[number, len(row)].argmax()))
    expected = [row[: row.index(config.eos_id)] if config.eos_id in row else row for row in rows]
    assert got == expected and got != backend.greedy(model, SOURCE, LENS, STEPS)
    assert [ids.ids for (ids,) in backend.hypotheses(model, SOURCE, LENS, STEPS, 1, prefixes=PREFIXES)] == expected


@pytest.mark.long
def test_a_wide_beam_finds_the_best_continuation_of_each_prefix(small, backend, in_reference):
    prefixes = [[5, 2], [], [4]]
    limits = [BEST + len(prefix) for prefix in prefixes]
    got = backend.hypotheses(small, SOURCE, LENS, limits, 27, coverage_penalty=0.4, prefixes=prefixes)
    for row, prefix in enumerate(prefixes):
        sequences = all_sequences(prefix)
        scores = scored(*in_reference(small), row, sequences, 0.4, prefix=prefix)
        assert got[row][0].ids == sequences[int(np.argmax(scores))]
        assert got[row][0].score == pytest.approx(np.max(scores), rel=1e-5)


def test_a_row_gives_what_it_gives_alone(model, backend):
    limits, row = np.array([7, 7, 5]), 2
    for search, options in ((backend.greedy, {}), (backend.beam, {"beam": 3, "coverage_penalty": 0.3})):
        whole = search(model, SOURCE, LENS, limits, prefixes=PREFIXES, **options)
        alone = search(model, SOURCE[row:], LENS[row:], 5, prefixes=PREFIXES[row:], **options)
        assert alone[0] == whole[row] and whole[row][:3] == PREFIXES[row] and 3 < len(whole[row]) <= 5


@pytest.mark.parametrize("search", ["greedy", "beam", "hypotheses", "sample"])
def test_what_no_prefix_and_no_limit_can_be_is_refused(search, model, backend):
    call = getattr(backend, search)
    for options, kind, words in (
        ({"prefixes": [[5], [6]]}, ShapeError, r"prefixes must hold a list of ids for each of 3 rows, got 2\."),
        ({"prefixes": [[5], [99], []]}, TokenError, r"Prefix 2 must hold token ids from 0 to 12, got 99\."),
        ({"prefixes": [[5, 3], [], []]}, TokenError, r"Prefix 1 must not hold eos_id = 3, which would end it, got \[5, 3\]\."),
        ({"prefixes": [[], [], [4] * STEPS]}, TokenError, r"Prefix 3 must be shorter than max_steps = 7, got 7 tokens\."),
        ({"max_steps": [3, 4]}, ShapeError, r"max_steps must be one number, or one for each of 3 rows, got 2\."),
        ({"max_steps": [3, 0, 4]}, TokenError, r"max_steps must be from 1 to max_len = 20, got 0\."),
    ):
        with pytest.raises(kind, match=words):
            call(model, SOURCE, LENS, **{"max_steps": STEPS, **options})
    alone = backend.build(DECODER, seed=0)
    with pytest.raises(ConfigError, match=r"prefixes must be None for a decoder alone, whose prompt is what it continues"):
        call(alone, [[2, 4]], prefixes=[[5]])


def test_what_no_coverage_penalty_can_be_is_refused(model, backend):
    for search in (backend.beam, backend.hypotheses):
        for penalty in (-0.1, 11, "much", True, float("nan")):
            with pytest.raises(ConfigError, match="coverage_penalty must be from 0 to 10, got"):
                search(model, SOURCE, LENS, 3, coverage_penalty=penalty)
        with pytest.raises(ConfigError, match="coverage_penalty must be 0 for a decoder alone.*got 0.2"):
            search(backend.build(DECODER, seed=0), [[2, 4]], coverage_penalty=0.2)
