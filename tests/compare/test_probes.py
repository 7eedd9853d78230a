"""Probes: each is whole, and tells a decoy apart from every framework."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from compare.decoy_answers import ANSWERS
from compare.decoys import TABLES
from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare.expectations import expected
from transformer_mb.compare.facts import KINDS, same
from transformer_mb.compare.probes import PROBES, TOPICS
from transformer_mb.compare.probes.reading import row_at

EXPECTED = expected()
BUILTINS = Path(__file__).parents[2] / "transformer_mb" / "compare" / "builtins"
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


ASKED = {topic.__name__.rpartition(".")[2]: {probe.operation for probe in topic.PROBES} for topic in TOPICS}


def test_names_are_unique_and_every_operation_of_the_decoys_answers_a_probe():
    assert sum(len(topic.PROBES) for topic in TOPICS) == len(PROBES) == len(ANSWERS) >= 45
    assert {topic: set(table) for topic, table in TABLES.items()} == ASKED


def operations(framework):
    """By topic the operations of a framework's tables, as its files have them; nothing where a reason stands for all."""
    files = [*(BUILTINS / framework).glob("*.py"), *BUILTINS.glob(f"{framework}.py")]
    nodes = [node for file in files for node in ast.parse(file.read_text()).body if isinstance(node, ast.AnnAssign)]
    for tables in (node.value for node in nodes if node.target.id == "TABLES"):
        for topic, table in zip(tables.keys, tables.values, strict=True):
            parts = [table.left, table.right] if isinstance(table, ast.BinOp) else [table]
            keys = [key.value for part in parts if isinstance(part, ast.Dict) for key in part.keys]
            yield topic.value, {*keys, *(one.arg for part in parts if isinstance(part, ast.Call) for one in part.keywords)}


@pytest.mark.parametrize("framework", BUILT_IN)
def test_every_framework_has_a_row_for_every_operation_and_no_other(framework):
    found = dict(operations(framework))
    assert set(found) == {*ASKED, "device", "own_parts"}
    assert {topic: found[topic] for topic in ASKED if found[topic]} == {topic: ASKED[topic] for topic in ASKED if found[topic]}


@pytest.mark.parametrize(
    ("memory", "word"),
    [
        ({4: 0.0, 5: 0.0, 6: 7.0, 7: 0.0}, "memory beside the table"),
        ({4: 0.0, 5: 0.0, 6: 0.0, 7: 0.0}, "zeros"),
        ({4: 0.0}, "memory beside the table"),  # the three beyond raise KeyError
        ({4: 7.0, 5: 0.0, 6: 0.0, 7: 0.0}, "memory beside the table"),
        ({4: 4.0, 5: 4.0, 6: 4.0, 7: 4.0}, "the last row"),
    ],
)
def test_memory_that_holds_zeros_by_chance_is_told_from_a_framework_that_gives_zeros(memory, word):
    table = np.repeat([[1.0], [2.0], [3.0], [4.0]], 64, axis=1)
    assert row_at(lambda index: np.full(64, memory[index]), 4, table) == word
