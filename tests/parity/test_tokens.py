"""The token rows say something: hypotheses that differ, and mistakes of the search that show."""

from dataclasses import replace

import numpy as np
import pytest

from transformer_mb.parity.computing import reference
from transformer_mb.parity.rows.token_models import HYPOTHESES, ROWS, SHOWN, Search, drawn, is_telling
from transformer_mb.parity.rows.tokens import BEAMS, CASES, token_experiments
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.registry import load_backend_class

EVERY = {(each.row, each.case): each for each in token_experiments("float64", seed=0)}


@pytest.mark.some(4)
@pytest.mark.parametrize("decoding", EVERY.values(), ids=lambda one: one.cells("")[0].id)
def test_W10_hypotheses_end_and_hold_several_tokens(decoding):
    tokens = decoding.expected["tokens"]
    assert tokens.shape[0] == ROWS and all(is_telling(row, decoding.search) for row in tokens)
    assert len(np.unique(tokens, axis=0)) >= HYPOTHESES
    changed = drawn(decoding.search, 0).changed
    assert set(changed) == set(decoding.search.mistakes) and all(count >= SHOWN for count in changed.values())


def test_every_mistake_of_a_search_is_looked_for():
    looked_for = {name for each in EVERY.values() for name in each.search.mistakes}
    assert looked_for == {
        "beam taken for greedy",
        "another length penalty",
        "no coverage penalty",
        "coverage of the next row",
        "no prefix",
        "a prefix that is written but not read",
        "caches that do not follow their hypotheses",
        "the last of equal logits",
        "suppressed tokens",
    }


@pytest.mark.parametrize("row", BEAMS)
def test_equal_logits_are_exactly_equal(row):
    """In float32 too, so that the lowest id is the only right answer; and no such tie is excused."""
    decoding = EVERY[row, "ties"]
    single = reference.run(reference.backend("float32"), decoding.request)["logits"]
    best = np.sort(np.delete(single, decoding.config.suppress_ids, axis=-1))[..., -2:]
    assert (best[..., 0] == best[..., 1]).any()
    request = replace(decoding.request, spec={**decoding.request.spec, "mistake": "the last of equal logits"})
    (result,) = judged(decoding, "numpy", lambda _: reference.answer(request))
    assert result.status == "failed" and "differs though clear" in result.reason
    assert row == "beam tokens" or "margin 0.0e+00" in result.reason


def test_what_is_telling():
    ended, cut = Search(CASES["d2l"], None), Search(CASES["d2l"], None, max_steps=3)
    assert is_telling([3, 4, -1, -1, -1, -1, -1, -1], ended)
    assert not is_telling([-1] * 8, ended) and not is_telling([3, 3, -1, -1, -1, -1, -1, -1], ended)
    assert not is_telling(range(8), ended) and not is_telling([1, 2, 3, 4, 5, 6, 7, -1], ended)
    assert is_telling([3, 4, 4], cut) and not is_telling([3, 3, 3], cut) and not is_telling([3, 4, -1], cut)


SEARCHES = [(name, case) for name in ("without_penalty", "without_reordering") for case in CASES] + [("wider", "d2l")]


@pytest.mark.parametrize(("name", "case"), SEARCHES)
def test_W10_another_search_fails_every_beam_cell(name, case, faulty_backends):
    backend = load_backend_class(name)(dtype="float64")
    decoding = EVERY["beam tokens", case]
    assert judged(decoding, "numpy", reference.answer)[0].status == "passed"
    (result,) = judged(decoding, name, lambda request: reference.run(backend, request))
    assert result.status == "failed" and "differs though clear" in result.reason


def test_a_third_choice_is_no_near_tie():
    """Where the two best tokens are close, the third is still wrong."""
    (decoding,) = [each for each in token_experiments("float64", 0) if (each.row, each.case) == ("greedy tokens", "d2l")]
    expected = decoding.expected
    logits = expected["logits"].copy()
    row, own = 0, expected["tokens"][0, 0]
    order = np.argsort(-logits[row, 0])
    assert order[0] == own
    logits[row, 0, order[1]] = logits[row, 0, own] - 1e-14  # nearly a tie of the first two
    decoding.__dict__["expected"] = {**expected, "logits": logits}
    for choice, status in ((order[1], "passed"), (order[2], "failed")):
        tokens = expected["tokens"].copy()
        tokens[row, 0] = choice
        answer = {**expected, "tokens": tokens, "logits": logits + 1e-14}
        assert judged(decoding, "numpy", lambda request, answer=answer: answer)[0].status == status
