"""How a fact stands to what is expected, and what --accept makes of it."""

import json
import math

import pytest

from transformer_mb.cli.commands.compare.behaviours import show_standings
from transformer_mb.compare.expectations import FILE, accept, expected, standing, standings
from transformer_mb.compare.facts import Fact, same
from transformer_mb.compare.words import complaint

EPSILON = "layer norm epsilon"


def fact(value, framework="torch", version="2.14"):
    return Fact(EPSILON, framework, version, value, "" if value is not None else "It has none.")


ROW = {"value": 1e-5, "since": "2.13"}


@pytest.mark.parametrize(
    ("value", "row", "status"),
    [
        (1e-5, ROW, "as expected"),
        (1e-5 * (1 + 1e-8), ROW, "as expected"),
        (1e-3, ROW, "changed"),
        ("raises ValueError", ROW, "changed"),
        (1e-3, None, "new"),
        (1e-3, {"value": None, "since": "2.13"}, "new"),
        (None, ROW, "gone"),
        (None, None, "not measurable here"),
    ],
)
def test_statuses(value, row, status):
    assert standing(fact(value), row).status == status


def test_a_change_names_both_values_and_both_versions():
    text = complaint(standing(fact(1e-3), ROW))
    assert text == f"CHANGED torch, {EPSILON}: 1e-05 was measured with 2.13, 2.14 has 0.001."


def test_what_is_accepted_is_expected_from_then_on(tmp_path):
    file = tmp_path / "expected.json"
    first = {"jax": {"value": None, "since": "0.7"}, "torch": {"value": 1e-5, "since": "2.13"}}
    accept(standings([fact(1e-5, version="2.13"), fact(None, "jax", "0.7")], file=file), file)
    assert expected(file) == {EPSILON: first}
    accept(standings([fact(1e-5), fact(None, "jax", "0.8")], file=file), file)
    assert expected(file) == {EPSILON: first}
    found = standings([fact(1e-4), fact(1e-6, "jax", "0.8")], file=file)
    assert [(one.status, one.holds) for one in found] == [("changed", False), ("new", True)]
    assert standings([fact(1e-4, "torch@old")], file=file)[0].status == "changed"
    accept(found, file)
    assert expected(file) == {EPSILON: {"jax": {"value": 1e-6, "since": "0.8"}, "torch": {"value": 1e-4, "since": "2.14"}}}


def test_the_file_is_written_as_it_is(tmp_path):
    """So that what --accept changes is all that a difference shows."""
    copy = tmp_path / "expected.json"
    copy.write_text(FILE.read_text())
    accept([], copy)
    assert copy.read_text() == FILE.read_text()


def test_values_of_each_kind_are_compared_in_their_way():
    assert same("exact", 1.0, 1.0) and not same("exact", 1.0, 1.0 + 1e-9) and same("exact", math.nan, math.nan)
    assert same("close", 1.0, 1.0 + 1e-9) and not same("close", 1.0, 1.0 + 1e-4)
    assert same("noted", 1.0, 2.0) and not same("close", "zeros", 1.0) and same("exact", "zeros", "zeros")


KNOWN = {"probe": EPSILON, "framework": "torch", "version": "2.13", "value": 1e-5, "reason": ""}
NOTHING_SHARED = "--against must hold a fact that is measured now, of torch, but it has none of these 1 probe."
REFUSED = {
    "two values of one": (
        {"behaviours": [KNOWN, {**KNOWN, "value": 1e-3}]},
        f"torch: {EPSILON} must have one fact, got several",
    ),
    "no facts": ({"behaviours": []}, NOTHING_SHARED),
    "another framework's": ({"behaviours": [{**KNOWN, "framework": "torch@old"}]}, NOTHING_SHARED),
    "larger than any number": (
        {"behaviours": [{**KNOWN, "value": 10**400}]},
        "value of fact 1 must be text or a number or null",
    ),
    "a list": ([], "the file must be an object, got []"),
    "facts as a number": ({"behaviours": 5}, "behaviours of the file must be a list"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_earlier_run_that_nothing_can_be_compared_with_is_refused(kind, fails, tmp_path):
    content, words = REFUSED[kind]
    (tmp_path / "facts.json").write_text(json.dumps(content))
    command = ["compare", "behaviours", "--backends", "torch", "--only", EPSILON, "--against", str(tmp_path / "facts.json")]
    assert words in fails(*command)


def test_what_an_earlier_run_says_moves_no_cursor(capsys):
    show_standings([standing(fact(1e-3), {"value": "\x1b[2J\ud800[/]", "since": "2.13"})])
    assert f"{EPSILON}: \\x1b[2J\\ud800[/] was measured with 2.13, 2.14 has 0.001.\n" in capsys.readouterr().out
