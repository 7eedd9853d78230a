"""Probes: each is whole, and tells a decoy apart from every framework."""

import re

import pytest

from compare.decoy_answers import ANSWERS
from compare.decoys import TABLES
from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare.expectations import expected
from transformer_mb.compare.facts import KINDS, same
from transformer_mb.compare.probes import PROBES, TOPICS

EXPECTED = expected()
SLIPS = ("raises AttributeError", "raises NameError", "raises ImportError")


@pytest.mark.parametrize("name", PROBES)
def test_a_decoy_gets_the_answer_that_it_was_made_with(name):
    probe = PROBES[name]
    found = probe.measure(TABLES[probe.topic][probe.operation])
    assert same(probe.kind if probe.kind != "noted" else "close", found, ANSWERS[name])


@pytest.mark.parametrize("name", PROBES)
def test_no_framework_has_the_decoys_answer(name):
    """Or the probe could not tell whether it looked at anything."""
    kind = PROBES[name].kind
    values = {framework: row["value"] for framework, row in EXPECTED[name].items()}
    kind = "close" if kind == "noted" else kind
    assert [one for one, value in values.items() if same(kind, value, ANSWERS[name])] == []


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_says_what_it_means(name):
    probe = PROBES[name]
    assert probe.kind in KINDS and "?" in probe.question
    assert probe.meaning.endswith((".", "?")) and probe.setting.endswith(".")
    assert not [source for source in probe.sources if not re.fullmatch(r"[\w-]+/[\w.-]+#\d+|[\w-]+(\.[\w-]+)+/\S+", source)]


@pytest.mark.parametrize("framework", BUILT_IN)
def test_no_fact_is_a_slip_of_ours(framework):
    """A framework refuses with an error of its own; a name that is not there is our mistake."""
    assert not {name for name, rows in EXPECTED.items() if rows[framework]["value"] in SLIPS}


def test_every_framework_is_expected_to_do_something_for_every_probe():
    assert {name: set(rows) for name, rows in EXPECTED.items()} == {name: {*BUILT_IN} for name in PROBES}


def test_names_are_unique_and_every_operation_of_the_decoys_answers_a_probe():
    assert sum(len(topic.PROBES) for topic in TOPICS) == len(PROBES) == len(ANSWERS) >= 45
    asked = {(probe.topic, probe.operation) for probe in PROBES.values()}
    assert asked == {(topic, operation) for topic, table in TABLES.items() for operation in table}
