"""Arguments of a search, as its caller gives them and as the step of a framework gets them."""

import numpy as np

import transformer_mb as tmb
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.decoding.beam_search import Finished, ScoredIds


def test_a_draw_is_told_of_in_numbers_that_every_compiled_step_takes():
    """Whole numbers would be int32 in a graph, by which no logits are divided; seeds are int32 there."""
    truncation = tmb.Sampling(temperature=2, top_p=1).truncation(9)
    assert [type(value) for value in truncation] == [float, int, float]
    seeds = tmb.Sampling().seeds(None, 1000)
    assert seeds.min() >= 0 and 2**30 < seeds.max() < 2**31


def test_as_many_hypotheses_come_as_are_asked_for():
    backend = tmb.get_backend("numpy")
    model = backend.build(ONE_LAYER, seed=3)
    source, lens = np.array([[4, 8, 6], [5, 9, 7]]), np.array([3, 2])
    every = backend.hypotheses(model, source, lens, 5, beam=3)
    for wanted in (1, 2, 3):
        assert backend.hypotheses(model, source, lens, 5, beam=3, n_best=wanted) == [row[:wanted] for row in every]


def test_the_best_finished_are_kept_whichever_comes_first():
    """Two of four; the last is better than the second of the first two alone."""
    finished = Finished(batch=1, n_best=2)
    for number, scores in enumerate([[-1.0, -3.0], [-4.0, -2.0]]):
        log_probs, ids = 2.0 * np.array([scores]), np.array([[10 * number, 10 * number + 1]])
        finished.add(log_probs, np.array([scores]), ids, np.zeros((1, 2, 0), int))
    assert finished.hypotheses == [[ScoredIds([0], -1.0, -2.0), ScoredIds([11], -2.0, -4.0)]]
    assert finished.lowest.tolist() == [-2.0]


def test_what_has_not_finished_is_kept_nowhere():
    finished = Finished(batch=1, n_best=2)
    finished.add(np.full((1, 2), -1.0), np.array([[-1.0, -np.inf]]), np.array([[5, 6]]), np.zeros((1, 2, 0), int))
    assert finished.hypotheses == [[ScoredIds([5], -1.0, -1.0)]] and finished.lowest.tolist() == [-np.inf]
