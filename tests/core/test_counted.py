"""Numbers of things in words."""

import pytest

import transformer_mb as tmb
from transformer_mb.counted import counted, skipped_lines


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (1_000, "1,000 pairs"), (1_001, "1,001 pairs")]
)
def test_one_of_a_thing_is_singular(number, words):
    assert counted(number, "pair") == words


def test_a_verb_follows_its_number():
    assert [counted(number, "differs", "differ") for number in (0, 1, 2)] == ["0 differ", "1 differs", "2 differ"]
    assert skipped_lines(1) == "1 line with a blank side was skipped"
    assert skipped_lines(2) == "2 lines with a blank side were skipped"


def test_a_training_on_one_pair_says_so(capsys):
    tmb.train([("a", "b")], epochs=1, num_hiddens=8, num_heads=2, num_layers=1, backend="numpy", verbose=True)
    told = capsys.readouterr().out
    assert told.startswith("1 pair; ") and "0.0% of 1 word unknown" in told and "training 1 epoch with" in told
