"""Tell the answers that a GPU changes, and show those that one did on a page."""

from pathlib import Path

from transformer_mb.compare.devices import differing, page
from transformer_mb.compare.facts import Fact
from transformer_mb.compare.records import read_facts

ROOT = Path(__file__).parents[2]


def fact(framework, value, probe="relu of NaN"):
    return Fact(probe, framework, "1", value)


def test_columns_of_one_framework_are_compared_with_its_first():
    facts = [fact("torch@cpu", "NaN"), fact("jax@cpu", "zero"), fact("torch@cuda", "zero"), fact("jax@cuda", "zero")]
    assert differing(facts) == [(facts[0], facts[2])]
    assert differing([fact("torch@cpu", 1.0), fact("torch@cuda", 1.0), fact("torch@cuda", 2.0, "gelu function")]) == []


def test_the_page_shows_what_was_measured():
    facts = read_facts(ROOT / "benchmarks" / "results" / "behaviours_NVIDIA_H200.json")
    assert (ROOT / "docs" / "BEHAVIOURS_ON_GPU.md").read_text() == page(facts)
    assert {one.framework.partition("@")[0] for one, _ in differing(facts)} == {"jax", "torch"}
