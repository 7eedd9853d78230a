"""The ten facts that surprise are measured ones, on which frameworks differ."""

from pathlib import Path

import pytest

from transformer_mb.compare.document import document
from transformer_mb.compare.probes import PROBES
from transformer_mb.compare.records import read_facts
from transformer_mb.compare.surprises import SURPRISES
from transformer_mb.compare.words import NONE, by_probe, by_value

FACTS = read_facts(Path(__file__).parents[2] / "benchmarks" / "results" / "behaviours.json")


def test_there_are_ten():
    assert len(SURPRISES) == 10


@pytest.mark.parametrize("name", SURPRISES)
def test_frameworks_differ_on_it_and_the_document_says_why_it_surprises(name):
    values = [value for value in by_value(by_probe(FACTS)[name]) if value != NONE]
    assert len(values) > 1
    why = SURPRISES[name]
    assert why.endswith(".") and ". " not in why
    (row,) = [line for line in document(FACTS).splitlines() if line.startswith("| ") and why in line]
    sources = PROBES[name].sources
    assert sources and all(text in row for text in (name, *values, *sources))


def test_a_document_of_other_probes_has_no_such_section():
    assert "Facts that surprise" not in document([fact for fact in FACTS if fact.probe == "layer norm epsilon"])
