"""Several hypotheses with their scores, of which ``greedy`` and ``beam`` give the best."""

import pytest

from transformer_mb.errors import ConfigError
from transformer_mb.parity.rows.model_cases import BATCH, CONFIGS

from .test_decoding import log_probabilities

SOURCE, LENS, STEPS = BATCH["source"], BATCH["source_valid_lens"], 7


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(CONFIGS["d2l"], seed=11)


def test_X1_the_best_hypothesis_is_that_of_the_search(model, backend):
    found = backend.hypotheses(model, SOURCE, LENS, STEPS, beam=3)
    assert [one[0].ids for one in found] == backend.beam(model, SOURCE, LENS, STEPS, beam=3)
    greedy = backend.hypotheses(model, SOURCE, LENS, STEPS, beam=1)
    assert [one.ids for (one,) in greedy] == backend.greedy(model, SOURCE, LENS, STEPS)


def test_X1_scores_are_those_of_whole_forward_passes(model, backend):
    """Sessions give log-probabilities in float32, whatever the backend computes in."""
    for beam in (1, 3):
        found = backend.hypotheses(model, SOURCE, LENS, STEPS, beam=beam, length_penalty=0.6)
        for rank in range(beam):
            ids = [one[rank].ids for one in found]
            expected = log_probabilities(backend, model, SOURCE, LENS, ids, STEPS)
            for one, (total, length) in zip(found, expected, strict=True):
                assert one[rank].log_probability == pytest.approx(total, rel=1e-5)
                assert one[rank].score == pytest.approx(total / ((5 + length) / 6) ** 0.6, rel=1e-5)


def test_X1_they_differ_and_come_in_order(model, backend):
    for found in backend.hypotheses(model, SOURCE, LENS, STEPS, beam=4):
        assert len(found) == len({tuple(one.ids) for one in found}) == 4
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_X1_no_more_than_the_beam_holds(model, backend):
    with pytest.raises(ConfigError, match="must be from 1 to the beam's 2, got 3"):
        backend.hypotheses(model, SOURCE, LENS, STEPS, beam=2, count=3)
