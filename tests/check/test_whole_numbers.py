"""Whole numbers that a module is given are judged as what its caller gives; a module may count otherwise on purpose."""

from pathlib import Path

import pytest

from transformer_mb import check

FILE = f"{Path(__file__).parent}/layers/positions_in_torch.py:Positioned"
CASE = {"inputs": {"x": check.floats("B", "T", 6)}, "sizes": {"B": 2, "T": 4}}


@pytest.fixture(scope="module")
def tree_of():
    def found(**options):
        with check.opened(check.torch(FILE), check.torch(FILE, **options), **CASE) as session:
            return check.bisect(session, session.draw(0), "float64")

    return found


def test_who_gives_wrong_positions_is_named_and_not_the_table(tree_of):
    tree = tree_of(off=1)
    assert tree.first == "" and "4 of 4 values differ" in str(tree), tree
    assert [node.reference for node in tree.nodes if node.failed] == [""]


def test_a_table_that_counts_from_one_as_its_caller_does_is_right(tree_of):
    assert tree_of(first=1).first is None
    tree = tree_of(first=1, epsilon=1e-3)
    assert [node.reference for node in tree.nodes if node.failed] == ["norm"], tree


def test_a_table_that_its_callers_positions_do_not_suit_is_named(tree_of):
    """With the right positions it would read other rows too: both sides count, but not alike."""
    tree = tree_of(first=1, off=1)
    assert tree.first == "table", tree
