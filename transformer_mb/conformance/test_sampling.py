"""Drawn tokens: by the exact probabilities of a tiny model, each row by its own seed, and cut as asked."""

import numpy as np
import pytest
from scipy.stats import chisquare

from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.decoding.sampling import Sampling
from transformer_mb.errors import ConfigError, ShapeError
from transformer_mb.parity.rows.model_cases import BATCH, DECODER
from transformer_mb.registry import get_backend

SOURCE, LENS, STEPS = BATCH["source"], BATCH["source_valid_lens"], 7
DRAWS = 3000
SUPPRESSED = (0, 1, 6)
UNLIKELY = 1e-4  # the seeds below are fixed: a right draw passes for ever


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(ONE_LAYER.replace(suppress_ids=SUPPRESSED), seed=11)


def probabilities(backend, model, prefix=()):
    """[V] of the token that follows, by a whole forward pass."""
    logits = backend.logits(model, SOURCE[:1], [[model.config.start_id, *prefix]], LENS[:1])[0, -1]
    logits[list(model.config.suppress_ids)] = -np.inf
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def cut(p, temperature=1.0, top_k=None, top_p=1.0):
    """In words: the k likeliest, and of these the fewest that have at least the share."""
    p = p ** (1.0 / temperature) / (p ** (1.0 / temperature)).sum()
    kept, total = [], 0.0
    likeliest = sorted(range(len(p)), key=lambda token: (-p[token], token))[:top_k]
    share = top_p * sum(p[token] for token in likeliest)
    for token in likeliest:
        if total >= share:
            break
        kept.append(token)
        total += p[token]
    return np.array([p[token] / total if token in kept else 0.0 for token in range(len(p))])


def draws(backend, model, steps=2, rows=DRAWS, **options):
    """[rows, steps], the end as 3."""
    source, lens = np.repeat(SOURCE[:1], rows, axis=0), np.repeat(LENS[:1], rows)
    drawn = backend.sample(model, source, lens, steps, Sampling(seed=20170612, **options))
    return np.array([[*row, *[3] * steps][:steps] for row in drawn])


def agrees(tokens, p):
    counts = np.bincount(tokens, minlength=len(p))
    assert counts[p == 0.0].sum() == 0
    possible = p > 0.0
    return chisquare(counts[possible], p[possible] * len(tokens)).pvalue > UNLIKELY


@pytest.mark.long(but=2)
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.5}, {"top_k": 4}, {"top_p": 0.6}, {"temperature": 2.0, "top_k": 6, "top_p": 0.7}],
    ids=str,
)
def test_tokens_are_drawn_by_their_probabilities(options, model, backend, in_reference):
    """The first token, and the second after the most frequent first."""
    tokens = draws(backend, model, **options)
    p = cut(probabilities(*in_reference(model)), **options)
    assert 1 < (p > 0).sum() < 13 and agrees(tokens[:, 0], p)
    counts = np.bincount(tokens[:, 0], minlength=13)
    counts[3] = 0
    first = int(counts.argmax())
    assert counts[first] > 200
    assert agrees(tokens[tokens[:, 0] == first, 1], cut(probabilities(*in_reference(model), [first]), **options))


def test_another_distribution_is_noticed(model, backend, in_reference):
    """Else the test above could not fail."""
    tokens, p = draws(backend, model, 1, rows=4 * DRAWS)[:, 0], probabilities(*in_reference(model))
    assert agrees(tokens, p) and not agrees(tokens, cut(p, temperature=0.8)) and not agrees(tokens, cut(p, temperature=1.25))


@pytest.mark.long
def test_what_leaves_one_token_is_greedy(backend, backend_name):
    for dtype in ("float32", "float64"):
        chosen = get_backend(backend_name, dtype=dtype)
        model = chosen.build(ONE_LAYER, seed=11)
        expected = chosen.greedy(model, SOURCE, LENS, STEPS)
        for options in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-3}, {"top_k": 1, "temperature": 1000.0}):
            assert chosen.sample(model, SOURCE, LENS, STEPS, Sampling(**options)) == expected


@pytest.mark.long
def test_of_equal_logits_the_lowest_ids_are_kept(backend):
    model = backend.build(ONE_LAYER.replace(suppress_ids=(0, 1, 2)), seed=0)
    weights = backend.get_weights(model)
    for name in ("decoder.dense.weight", "decoder.dense.bias"):
        weights[name] = np.zeros_like(weights[name])
    backend.set_weights(model, weights)
    for options in ({"top_k": 3}, {"top_p": 0.25}):  # ten are left, each with a tenth
        drawn = draws(backend, model, 1, **options)
        assert set(drawn.ravel().tolist()) == {3, 4, 5}


@pytest.mark.two_bytes
@pytest.mark.long(but=1)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_in_two_bytes_a_share_of_many_tokens_is_summed_in_more(dtype, backend_in):
    """Of 5,000 nearly equal parts bfloat16 itself adds up no more than 256, and float16 2,048; half of them is 2,500."""
    narrow, vocab = backend_in(dtype), 5000
    model = narrow.build(ONE_LAYER.replace(target_vocab_size=vocab, suppress_ids=()), seed=0)
    weights = narrow.get_weights(model)
    weights["decoder.dense.weight"] = np.zeros_like(weights["decoder.dense.weight"])
    # The likeliest half comes last.
    weights["decoder.dense.bias"] = np.where(np.arange(vocab) < vocab // 2, 0.0, 2.0**-7)
    narrow.set_weights(model, weights)
    ids = draws(narrow, model, 1, top_p=0.5)[:, 0]
    within = ids[ids != 3]
    assert within.min() >= vocab // 2 and within.max() <= vocab - 10
    assert len(set(within.tolist())) > 1500  # of 2,480 in 3,000 draws, which leave a third out


def test_a_row_is_drawn_by_its_number_and_the_seed_alone(model, backend):
    sampling = Sampling(temperature=2.0, seed=5)
    whole = backend.sample(model, SOURCE, LENS, STEPS, sampling)
    assert backend.sample(model, SOURCE, LENS, STEPS, sampling) == whole
    assert backend.sample(model, SOURCE, LENS, STEPS, Sampling(temperature=2.0, seed=6)) != whole
    assert backend.sample(model, SOURCE, LENS, STEPS, sampling, rows=[7, 8, 9]) != whole
    for row in range(3):
        alone = SOURCE[row : row + 1], LENS[row : row + 1]
        assert backend.sample(model, *alone, STEPS, sampling, rows=[row]) == whole[row : row + 1]
    assert backend.sample(model, SOURCE, LENS, 4, sampling) == [row[:4] for row in whole]
    assert backend.sample(model, SOURCE[::-1], LENS[::-1], STEPS, sampling, rows=[2, 1, 0]) == whole[::-1]


def test_prefixes_are_continued(model, backend):
    sampling, prefixes = Sampling(seed=3, top_k=1), [[5, 9], [], [4, 4, 7]]
    expected = backend.greedy(model, SOURCE, LENS, STEPS, prefixes=prefixes)
    assert backend.sample(model, SOURCE, LENS, STEPS, sampling, prefixes=prefixes) == expected
    rows = backend.sample(model, SOURCE, LENS, STEPS, Sampling(seed=3), prefixes=prefixes)
    assert all(row[: len(prefix)] == prefix for row, prefix in zip(rows, prefixes, strict=True))


@pytest.mark.long
def test_a_decoder_alone_draws_what_follows_its_prompts(backend):
    model = backend.build(DECODER, seed=3)
    prompts, lens = [[2, 5, 6], [4, 0, 0]], [3, 1]
    expected = backend.greedy(model, prompts, lens, 5)
    assert backend.sample(model, prompts, lens, 5, Sampling(top_k=1)) == expected
    whole = backend.sample(model, prompts, lens, 5, Sampling(seed=1))
    assert backend.sample(model, [[4]], None, 5, Sampling(seed=1), rows=[1]) == whole[1:]


def test_what_cannot_be_is_refused(model, backend):
    for options, words in (
        ({"temperature": 0}, "temperature must be from 0.001 to 1000, got 0."),
        ({"temperature": "hot"}, "temperature must be from 0.001 to 1000, got 'hot'."),
        ({"top_k": 0}, "top_k must be at least 1, got 0."),
        ({"top_k": 2.5}, "top_k must be a whole number, got 2.5."),
        ({"top_p": 0.0}, "top_p must be from 1e-06 to 1, got 0.0."),
        ({"top_p": 1.1}, "top_p must be from 1e-06 to 1, got 1.1."),
        ({"seed": -1}, "seed must not be negative, got -1."),
    ):
        with pytest.raises(ConfigError) as raised:
            Sampling(**options)
        assert str(raised.value) == words
    with pytest.raises(ConfigError, match="sampling must be a Sampling, got True"):
        backend.sample(model, SOURCE, LENS, 3, True)
    with pytest.raises(ShapeError, match="rows must hold a number for each of 3 rows, got 2"):
        backend.sample(model, SOURCE, LENS, 3, rows=[1, 2])
