"""The token rows say something: hypotheses that differ, and mistakes of the search that show."""

from dataclasses import replace

import numpy as np
import pytest

from transformer_mb.parity.computing import reference
from transformer_mb.parity.rows.token_models import HYPOTHESES, SHOWN, Search, drawn, is_telling
from transformer_mb.parity.rows.tokens import BEAMS, CASES, token_experiments
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.registry import load_backend_class
from transformer_mb.rounding import rounded

EVERY = {(each.row, each.case): each for each in token_experiments("float64", seed=0)}
IN_TWO_BYTES = [each.case for each in token_experiments("bfloat16", seed=0)]


@pytest.mark.long(but=4)
@pytest.mark.parametrize("decoding", EVERY.values(), ids=lambda one: one.cells("")[0].id)
def test_hypotheses_end_and_hold_several_tokens(decoding):
    tokens, wanted = decoding.expected["tokens"], decoding.search.rows
    assert tokens.shape[0] == wanted and all(is_telling(row, decoding.search) for row in tokens)
    assert np.array_equal(decoding.expected["scored tokens"], tokens)
    assert len(np.unique(tokens, axis=0)) >= decoding.search.at_least(HYPOTHESES)
    changed = drawn(decoding.search, 0, "float32").changed
    assert set(changed) == set(decoding.search.mistakes) and all(
        count >= decoding.search.at_least(SHOWN) for count in changed.values()
    )


def test_every_mistake_of_a_search_is_looked_for():
    looked_for = {name for each in EVERY.values() for name in each.search.mistakes}
    assert looked_for == {
        "beam taken for greedy",
        "another length penalty",
        "no coverage penalty",
        "coverage of the next row",
        "no prefix",
        "positions that move",
        "a prefix that is written but not read",
        "caches that do not follow their hypotheses",
        "the last of equal logits",
        "suppressed tokens",
        "a search that ends by today's length",
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
def test_another_search_fails_every_beam_cell(name, case, faulty_backends):
    backend = load_backend_class(name)(dtype="float64")
    decoding = EVERY["beam tokens", case]
    assert judged(decoding, "numpy", reference.answer)[0].status == "passed"
    (result,) = judged(decoding, name, lambda request: reference.run(backend, request))
    assert result.status == "failed" and "differs though clear" in result.reason


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("case", IN_TWO_BYTES)
def test_in_two_bytes_each_choice_is_clear(case, dtype):
    """By eight of the format's epsilons, times the logits' deviation; or its rival is exactly as good.

    The deviation was that of all rows that were drawn: of those that were kept it may be a third larger.
    """
    (decoding,) = [one for one in token_experiments(dtype, 0) if one.case == case]
    tokens, logits = decoding.expected["tokens"], decoding.expected["logits"]
    assert all(rounded(value, dtype) == pytest.approx(value) for value in decoding.request.arrays.values())
    forced = (decoding.request.arrays.get("prefixes", np.full((len(tokens), 1), -1)) >= 0).sum(axis=1)
    rounding = {"bfloat16": 2.0**-7, "float16": 2.0**-10}[dtype] * logits.std()
    for row in range(len(tokens)):
        steps = np.minimum((tokens[row] >= 0).sum() + 1, tokens.shape[1])
        for step in range(forced[row], steps):
            own = tokens[row, step] if tokens[row, step] >= 0 else decoding.config.eos_id
            others = set(range(logits.shape[-1])) - {own, *decoding.config.suppress_ids}
            margin = logits[row, step, own] - np.max(logits[row, step, list(others)])
            assert margin == 0.0 or margin >= 6.0 * rounding


@pytest.fixture
def nearly_tied():
    """The experiment, and the tokens by rank of the first choice of its first row, of which the first two are nearly tied."""
    (decoding,) = [each for each in token_experiments("float64", 0) if (each.row, each.case) == ("greedy tokens", "d2l")]
    expected = decoding.expected
    logits = expected["logits"].copy()
    own = expected["tokens"][0, 0]
    order = np.argsort(-logits[0, 0])
    assert order[0] == own
    logits[0, 0, order[1]] = logits[0, 0, own] - 1e-14
    decoding.__dict__["expected"] = {**expected, "logits": logits}
    return decoding, order


def chosen(decoding, token, off):
    """The verdict on another first token and logits that are off by so much."""
    tokens = decoding.expected["tokens"].copy()
    tokens[0, 0] = token
    answer = {**decoding.expected, "tokens": tokens, "logits": decoding.expected["logits"] + off}
    return judged(decoding, "numpy", lambda request: answer)[0].status


def test_a_third_choice_is_no_near_tie(nearly_tied):
    """Where the two best tokens are close, the third is still wrong."""
    decoding, order = nearly_tied
    assert [chosen(decoding, token, 1e-14) for token in order[1:3]] == ["passed", "failed"]


def test_an_error_of_another_step_excuses_nothing(nearly_tied):
    decoding, order = nearly_tied
    off = np.zeros_like(decoding.expected["logits"])
    off[0, 1:], off[1:] = 1e-14, 1e-14
    assert chosen(decoding, order[1], off) == "failed"


def test_in_two_bytes_who_errs_more_is_excused_no_more():
    (decoding,) = [each for each in token_experiments("bfloat16", 0) if each.case == "d2l"]
    rough = {"logits": decoding.expected["logits"] + 1.0}
    allowed = decoding._excused(rough)
    assert allowed.shape == rough["logits"].shape[:2] and 0.0 < allowed.max() < 0.5
    assert np.array_equal(allowed, decoding._excused(decoding.expected))
