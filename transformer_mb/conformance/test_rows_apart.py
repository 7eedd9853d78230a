"""Searches whose rows have limits of their own, and searches of several models: rows are found as alone."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.data import Vocabulary
from transformer_mb.errors import ConfigError

LENS = np.array([3, 9, 5, 12])
SOURCE = np.where(np.arange(12) < LENS[:, None], np.random.default_rng(0).integers(4, 20, (4, 12)), 1)
LIMITS = [6, 20, 9, 17]
SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 16, "num_layers": 1, "num_heads": 2, "max_len": 30}


@pytest.fixture(scope="module")
def models(backend):
    return [backend.build(tmb.presets.d2l(20, 20, **SIZES), seed=seed) for seed in (0, 1)]


@pytest.mark.parametrize("several", [False, True], ids=["one", "ensemble"])
@pytest.mark.parametrize(
    ("call", "options"), [("greedy", {}), ("beam", {"beam": 3}), ("hypotheses", {"coverage_penalty": 0.3})]
)
@pytest.mark.parametrize("rows", [(0, 1), pytest.param((2, 3), marks=pytest.mark.long)])
def test_a_row_is_found_as_alone(backend, models, call, options, several, rows):
    search, model = getattr(backend, call), models if several else models[0]
    together = search(model, SOURCE, LENS, LIMITS, **options)
    for row in rows:  # what compiles does so for each
        (alone,) = search(model, SOURCE[row : row + 1, : LENS[row]], LENS[row : row + 1], LIMITS[row], **options)
        given = together[row]
        if call == "hypotheses":
            alone, given = [one.ids for one in alone], [one.ids for one in given]
        assert alone == given


def test_an_ensemble_takes_the_most_of_the_mean_probability(backend, models):
    """Step by step by what each model says of all tokens."""
    (found,) = backend.greedy(models, SOURCE[1:2], [9], 6)
    fed = [models[0].config.start_id]
    for token in [*found, models[0].config.eos_id][:6]:
        each = [backend.logits(model, SOURCE[1:2], [fed], [9])[0, -1] for model in models]
        mean = np.mean([np.exp(one - one.max()) / np.exp(one - one.max()).sum() for one in each], axis=0)
        assert token == mean.argmax()
        fed.append(token)
    alone = backend.beam(models[0], SOURCE, LENS, LIMITS)
    assert backend.beam([models[0]] * 2, SOURCE, LENS, LIMITS) == backend.beam(models[:1], SOURCE, LENS, LIMITS) == alone


def test_models_of_other_vocabularies_are_no_ensemble(backend, models):
    other = backend.build(tmb.presets.d2l(20, 21, **SIZES))
    with pytest.raises(ConfigError, match="must have the same target_vocab_size, got 20 in the first and 21 in model 2"):
        backend.greedy([models[0], other], SOURCE, LENS, 4)
    with pytest.raises(ConfigError, match="Tokens are drawn from one model, got an ensemble of 2"):
        backend.sample(models, SOURCE, LENS, 4)
    with pytest.raises(ConfigError, match="at least one model, got none"):
        backend.greedy([], SOURCE, LENS, 4)


def test_one_at_a_time_a_lines_bits_depend_on_no_other_line(backend, models):
    """As ``translate --invariant`` does it; in one batch the last bits may differ, as docs/INVARIANCE.md counts."""
    words = Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", *(f"w{number}" for number in range(16))])
    lines = [" ".join(f"w{number}" for number in row[:length] - 4) for row, length in zip(SOURCE, LENS, strict=True)]
    translator = tmb.Translator(backend, models[0], words, words, batch_size=1)
    alone = [translator.hypotheses(line, 2) for line in lines]
    assert translator.hypotheses(lines, 2) == alone
    assert translator.hypotheses([*lines[::-1], ""], 2)[:4] == alone[::-1]
