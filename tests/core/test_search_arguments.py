"""The arguments of searches in Python: whole numbers, a bounded length penalty, and what may be left out."""

from itertools import chain

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import ConfigError

LINE = "go .\n"
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}
SOURCE = [[4, 5, 6], [7, 3, 1]]
NOT_FROM_0_TO_10 = [float("nan"), float("inf"), -0.1, 10.5, 1e9, "1", True, None]


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


@pytest.fixture(scope="module")
def decoder(backend):
    return backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **SMALL))


@pytest.fixture(scope="module")
def translator(trained):
    return tmb.Translator.load(trained)


@pytest.mark.parametrize("wrong", NOT_FROM_0_TO_10, ids=str)
def test_a_length_penalty_is_finite_and_bounded(backend, model, translator, wrong):
    said = rf"length_penalty must be from 0 to 10, got {wrong!r}\."
    for search in (backend.beam, backend.hypotheses):
        with pytest.raises(ConfigError, match=said):
            search(model, SOURCE, length_penalty=wrong)
    for search in (translator.translate, translator.hypotheses):
        with pytest.raises(ConfigError, match=said):
            search(LINE, beam=2, length_penalty=wrong)


def test_the_largest_length_penalty_gives_finite_scores(backend, model):
    for found in backend.hypotheses(model, SOURCE, length_penalty=np.float32(10)):
        assert np.isfinite([one.score for one in found]).all() and all(one.score < 0.0 for one in found)


def test_numbers_of_a_search_are_whole(backend, model, decoder, translator, trained):
    for search in (backend.beam, backend.hypotheses):
        with pytest.raises(ConfigError, match=r"beam must be a whole number, got 1\.5\."):
            search(model, SOURCE, beam=1.5)
        with pytest.raises(ConfigError, match=r"max_steps must be a whole number, got 2\.5\."):
            search(model, SOURCE, max_steps=2.5)
    for native, ids in ((model, SOURCE), (decoder, [[4, 5]])):
        with pytest.raises(ConfigError, match=r"max_steps must be a whole number, got 2\.5\."):
            backend.greedy(native, ids, max_steps=2.5)
    with pytest.raises(ConfigError, match=r"n_best must be a whole number, got 1\.5\."):
        backend.hypotheses(model, SOURCE, n_best=1.5)
    with pytest.raises(ConfigError, match=r"beam must be a whole number, got 1\.5\."):
        translator.translate(LINE, beam=1.5)
    for name in ("batch_size", "max_steps"):
        with pytest.raises(ConfigError, match=rf"{name} must be a whole number, got 2\.5\."):
            tmb.Translator.load(trained, **{name: 2.5})
        with pytest.raises(ConfigError, match=f"{name} must be at least 1, got 0."):
            tmb.Translator.load(trained, **{name: 0})


def test_searches_may_leave_out_lengths_and_steps(backend, model, decoder):
    for native, ids, steps in ((model, SOURCE, 7), (decoder, [[4, 5, 6], [7, 8, 9]], 5)):
        lens = [3, 3]
        assert backend.greedy(native, ids) == backend.greedy(native, ids, lens, steps)
        assert backend.beam(native, ids, beam=2) == backend.beam(native, ids, lens, steps, 2, 0.6)
        default, told = (backend.hypotheses(native, ids, *given) for given in ((None, None, 2), (lens, steps, 2, 0.6)))
        for one, other in zip(chain(*default), chain(*told), strict=True):
            assert one.ids == other.ids and one.score == pytest.approx(other.score)
        assert backend.greedy(native, ids, max_steps=2) == [row[:2] for row in backend.greedy(native, ids)]


def test_n_best_is_the_number_of_hypotheses(backend, model):
    all_of_them = backend.hypotheses(model, SOURCE, beam=3)
    assert backend.hypotheses(model, SOURCE, beam=3, n_best=2) == [found[:2] for found in all_of_them]
    assert [len(found) for found in all_of_them] == [3, 3]
