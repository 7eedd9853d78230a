"""`transformer-mb compare behaviours`, run on the frameworks themselves."""

import json
from pathlib import Path

import pytest

from transformer_mb.cli.main import main
from transformer_mb.compare import behaviours
from transformer_mb.compare.document import document
from transformer_mb.compare.expectations import standings
from transformer_mb.compare.records import read_facts
from transformer_mb.registry import BUILT_IN

ROOT = Path(__file__).parents[2]
PLANTED = Path(__file__).with_name("planted.py")


@pytest.fixture(scope="module")
def facts():
    return behaviours(list(BUILT_IN))


def test_every_framework_does_what_is_expected_of_it(facts):
    assert [one for one in standings(facts) if not one.holds] == []
    assert {one.status for one in standings(facts)} == {"as expected", "not measurable here"}


def test_two_threads_and_another_run_give_the_same_facts(facts):
    """What is noted is of the moment, and nobody is held to it."""
    again = behaviours(["torch", "jax"], threads=2)
    assert [one for one in standings(again) if not one.holds] == []


CHANGES = [
    ("tensorflow", "keras_layer_norm", "layer norm epsilon"),
    ("jax", "jax_gelu", "gelu"),
    ("torch", "torch_adam", "adam weight decay"),
    ("jax", "flax_attention_dropout", "attention dropout mask"),
]


@pytest.mark.parametrize(("framework", "planted", "probe"), CHANGES)
def test_a_changed_default_is_told_by_exactly_its_probe(framework, planted, probe):
    changed = [one for one in standings(behaviours([framework], prepare={framework: f"{PLANTED}:{planted}"})) if not one.holds]
    assert [one.fact.probe for one in changed] == [probe] and changed[0].status == "changed"


def test_the_document_is_the_committed_run():
    facts = read_facts(ROOT / "benchmarks" / "results" / "behaviours.json")
    assert (ROOT / "docs" / "BEHAVIOURS.md").read_text() == document(facts)
    assert [one for one in standings(facts) if not one.holds] == []


def test_the_command(tmp_path, capsys):
    """0 while nothing changed, 1 with both values where an expected one is another."""
    file = tmp_path / "facts.json"
    command = ["compare", "behaviours", "--backends", "torch", "--only", "layer norm epsilon"]
    assert main([*command, "--json", str(file)]) == 0
    assert "1 probes, 1 facts: 1 as expected" in capsys.readouterr().out
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
