"""The token rows say something: hypotheses that differ, and mistakes of the search that show."""

import numpy as np
import pytest

from transformer_mb.parity.computing import reference
from transformer_mb.parity.rows.token_models import CONTROLS, HYPOTHESES, ROWS, SHOWN, drawn, is_telling
from transformer_mb.parity.rows.tokens import BEAMS, CASES, Decoding
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.registry import load_backend_class


@pytest.mark.parametrize(("case", "seed"), [*((case, 0) for case in CASES), ("d2l", 1)])
@pytest.mark.parametrize("row", BEAMS)
def test_W10_hypotheses_end_and_hold_several_tokens(row, case, seed):
    decoding = Decoding(row, case, "float64", seed)
    tokens = decoding.expected["tokens"]
    assert tokens.shape[0] == ROWS and all(is_telling(row) for row in tokens)
    assert len(np.unique(tokens, axis=0)) >= HYPOTHESES
    changed = drawn(decoding.config, BEAMS[row], seed).changed
    assert set(changed) == (set(CONTROLS) if BEAMS[row] else set()) and all(count >= SHOWN for count in changed.values())


def test_what_is_telling():
    assert is_telling([3, 4, -1, -1, -1, -1, -1, -1])
    assert not is_telling([-1] * 8) and not is_telling([3, 3, -1, -1, -1, -1, -1, -1])
    assert not is_telling(range(8)) and not is_telling([1, 2, 3, 4, 5, 6, 7, -1])


SEARCHES = [(name, case) for name in ("without_penalty", "without_reordering") for case in CASES] + [("wider", "d2l")]


@pytest.mark.parametrize(("name", "case"), SEARCHES)
def test_W10_another_search_fails_every_beam_cell(name, case, faulty_backends):
    backend = load_backend_class(name)(dtype="float64")
    decoding = Decoding("beam tokens", case, "float64", 0)
    assert judged(decoding, "numpy", reference.answer)[0].status == "passed"
    (result,) = judged(decoding, name, lambda request: reference.run(backend, request))
    assert result.status == "failed" and "differs though clear" in result.reason


def test_a_third_choice_is_no_near_tie():
    """Where the two best tokens are close, the third is still wrong."""
    decoding = Decoding("greedy tokens", "d2l", "float64", 0)
    expected = decoding.expected
    logits = expected["logits"].copy()
    row, own = 0, expected["tokens"][0, 0]
    order = np.argsort(-logits[row, 0])
    assert order[0] == own
    logits[row, 0, order[1]] = logits[row, 0, own]  # a tie of the first two
    decoding.__dict__["expected"] = {**expected, "logits": logits}
    for choice, status in ((order[1], "passed"), (order[2], "failed")):
        tokens = expected["tokens"].copy()
        tokens[row, 0] = choice
        answer = {**expected, "tokens": tokens, "logits": logits}
        assert judged(decoding, "numpy", lambda request, answer=answer: answer)[0].status == status
