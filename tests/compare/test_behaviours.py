"""`transformer-mb compare behaviours`, run on the frameworks themselves."""

import json
from pathlib import Path

import pytest

from compare.planted import planted
from transformer_mb.built_in import BUILT_IN
from transformer_mb.cli.main import main
from transformer_mb.compare import behaviours
from transformer_mb.compare.document import document
from transformer_mb.compare.expectations import expected, standings
from transformer_mb.compare.probes import PROBES
from transformer_mb.compare.records import read_facts

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def facts():
    return behaviours(list(BUILT_IN))


def test_every_framework_does_what_is_expected_of_it(facts):
    assert [one for one in standings(facts) if not one.holds] == []
    assert {one.status for one in standings(facts)} == {"as expected", "not measurable here"}


# What planted.py changes in each framework shows in these probes.
CHANGES = {
    "tensorflow": {"layer norm epsilon"},
    "jax": {"gelu function", "what shares a mask of attention dropout"},
    "torch": {"Adam weight decay"},
}


@pytest.fixture(scope="module")
def changed():
    """By framework what another default in its process changed; with two threads, which change nothing."""
    with planted():
        found = [one for one in standings(behaviours(list(CHANGES), threads=2)) if not one.holds]
    assert {one.status for one in found} == {"changed"}
    return {framework: {one.fact.probe for one in found if one.fact.framework == framework} for framework in CHANGES}


@pytest.mark.long
@pytest.mark.parametrize("framework", CHANGES)
def test_a_changed_default_is_told_by_exactly_its_probe(framework, changed):
    assert changed[framework] == CHANGES[framework]


def test_what_follows_a_probe_that_ends_the_process_is_measured():
    with planted("crash"):
        first, second = behaviours(["torch"], only="layer norm epsilon|rms norm epsilon")
    assert (first.value, second.value) == ("ends the process", expected()["rms norm epsilon"]["torch"]["value"])
    assert "SIGABRT" in first.reason


def test_the_document_is_the_committed_run():
    facts = read_facts(ROOT / "benchmarks" / "results" / "behaviours.json")
    assert (ROOT / "docs" / "BEHAVIOURS.md").read_text() == document(facts)
    assert [one for one in standings(facts) if not one.holds] == []
    assert f"{len(PROBES)} probes" in (ROOT / "README.md").read_text()


def test_the_command(tmp_path, capsys):
    """0 while nothing changed, 1 with both values where an expected one is another."""
    file = tmp_path / "facts.json"
    command = ["compare", "behaviours", "--backends", "torch", "--only", "layer norm epsilon"]
    assert main([*command, "--json", str(file)]) == 0
    assert "1 probe, 1 fact: 1 as expected" in capsys.readouterr().out
    written = json.loads(file.read_text())
    written["behaviours"][0]["value"] = 1e-3
    file.write_text(json.dumps(written))
    assert main([*command, "--against", str(file)]) == 1
    assert "CHANGED torch, layer norm epsilon: 0.001 was measured with" in capsys.readouterr().out


def test_the_command_refuses_what_it_does_not_know(tmp_path, capsys):
    assert main(["compare", "behaviours", "--only", "no such probe"]) == 2
    assert "--only must match the name of a probe, got 'no such probe'" in capsys.readouterr().err
    (tmp_path / "other.json").write_text("[]")
    assert main(["compare", "behaviours", "--against", str(tmp_path / "other.json")]) == 2
    assert "must be what `compare behaviours --json` writes" in capsys.readouterr().err


def test_a_pattern_without_a_probe_names_a_few_that_are_near_each_on_a_line(cli):
    done = cli("compare", "behaviours", "--only", "softmax of nothng")
    first, *near = done.err.splitlines()
    assert done.status == 2 and "which none of the" in first and "docs/BEHAVIOURS.md" in first
    assert near and {line.removeprefix("- ") for line in near} <= set(PROBES)


def test_a_file_without_facts_to_compare_is_said_to_be_none(fails, data, tmp_path):
    message = fails("compare", "behaviours", "--only", "*", "--against", data)
    assert f"{data} must be what `compare behaviours --json` writes, got no JSON: " in message and "Error" not in message[6:]
    other = tmp_path / "other.json"
    other.write_text("{}")
    message = fails("compare", "behaviours", "--against", other)
    assert "got other JSON, in which this is missing or wrong: the file must have behaviours, but it has none." in message
