"""Arguments of a search, as its caller gives them and as the step of a framework gets them."""

import numpy as np

import transformer_mb as tmb
from transformer_mb.conformance.small_models import ONE_LAYER


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
