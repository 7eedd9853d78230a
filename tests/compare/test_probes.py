"""Probes: each is whole, and tells its decoy apart from every framework."""

import re
from importlib import import_module

import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare.expectations import expected
from transformer_mb.compare.facts import KINDS, same
from transformer_mb.compare.measuring import FRAMEWORKS, operation
from transformer_mb.compare.probes import TOPICS, every_probe, probes

PROBES = every_probe()
SLIPS = ("raises AttributeError", "raises NameError", "raises ImportError")


@pytest.mark.parametrize("name", PROBES)
def test_a_decoy_gets_the_answer_that_it_was_made_with(name):
    topic, probe = PROBES[name]
    assert same(probe.kind if probe.kind != "noted" else "close", probe.measure(operation("decoy", topic, probe)), probe.decoy)


@pytest.mark.parametrize("name", PROBES)
def test_no_framework_has_the_decoys_answer(name):
    """Or the probe could not tell whether it looked at anything."""
    kind = PROBES[name][1].kind
    values = {framework: expected(framework)[name]["value"] for framework in BUILT_IN if name in expected(framework)}
    assert values
    decoy = PROBES[name][1].decoy
    assert [one for one, value in values.items() if same("close" if kind == "noted" else kind, value, decoy)] == []


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_says_what_it_means(name):
    _, probe = PROBES[name]
    assert probe.kind in KINDS and "?" in probe.question
    assert probe.meaning.endswith((".", "?")) and probe.setting.endswith(".")
    assert not [source for source in probe.sources if not re.fullmatch(r"[\w-]+/[\w.-]+#\d+|[\w-]+(\.[\w-]+)+/\S+", source)]


@pytest.mark.parametrize("framework", BUILT_IN)
def test_no_fact_is_a_slip_of_ours(framework):
    """A framework refuses with an error of its own; a name that is not there is our mistake."""
    values = {name: row["value"] for name, row in expected(framework).items()}
    assert not {name for name, value in values.items() if value in SLIPS}


@pytest.mark.parametrize("framework", BUILT_IN)
def test_every_framework_is_expected_to_do_something_for_every_probe(framework):
    assert set(expected(framework)) == set(PROBES)


def test_names_are_unique_and_operations_are_in_the_decoys():
    assert sum(len(probes(topic)) for topic in TOPICS) == len(PROBES) >= 45
    for topic, probe in PROBES.values():
        assert hasattr(import_module(f"{FRAMEWORKS}.decoy.{topic}"), probe.operation)
