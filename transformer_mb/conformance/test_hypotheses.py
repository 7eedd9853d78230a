"""Several hypotheses with their scores, of which ``greedy`` and ``beam`` give the best."""

import pytest

from transformer_mb.errors import ConfigError
from transformer_mb.parity.rows.model_cases import BATCH

from .test_decoding import log_probabilities

SOURCE, LENS, STEPS, BEAM = BATCH["source"], BATCH["source_valid_lens"], 7, 3


@pytest.fixture(scope="module")
def found(backend, model):
    """By the number of hypotheses of the search."""
    return {beam: backend.hypotheses(model, SOURCE, LENS, STEPS, beam=beam) for beam in (1, BEAM)}


def test_the_best_hypothesis_is_that_of_the_search(found, model, backend):
    assert [one[0].ids for one in found[BEAM]] == backend.beam(model, SOURCE, LENS, STEPS, beam=BEAM)
    assert [one.ids for (one,) in found[1]] == backend.greedy(model, SOURCE, LENS, STEPS)


def test_scores_of_hypotheses_are_those_of_whole_forward_passes(found, model, in_reference):
    """Sessions give log-probabilities in float32, whatever the backend computes in."""
    for beam, rows in found.items():
        for rank in range(beam):
            expected = log_probabilities(*in_reference(model), SOURCE, LENS, [row[rank].ids for row in rows], STEPS)
            for row, (total, length) in zip(rows, expected, strict=True):
                assert row[rank].log_probability == pytest.approx(total, rel=1e-5)
                assert row[rank].score == pytest.approx(total / ((5 + length) / 6) ** 0.6, rel=1e-5)


def test_hypotheses_differ_and_come_in_order(found):
    for row in found[BEAM]:
        assert len(row) == len({tuple(one.ids) for one in row}) == BEAM
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)


def test_who_does_not_say_gets_a_beam_of_four(model, backend):
    """And each search of a beam says so of itself."""
    assert [len(row) for row in backend.hypotheses(model, SOURCE, LENS, STEPS)] == [4] * len(SOURCE)
    assert backend.beam(model, SOURCE, LENS, STEPS) == backend.beam(model, SOURCE, LENS, STEPS, beam=4)


def test_no_more_hypotheses_than_the_beam_holds(model, backend):
    with pytest.raises(ConfigError, match="must be from 1 to the beam's 2, got 3"):
        backend.hypotheses(model, SOURCE, LENS, STEPS, beam=2, n_best=3)
