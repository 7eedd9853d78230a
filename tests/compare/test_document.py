"""The page of behaviors says a reason once per topic, and finds each framework's own answers."""

import re
from pathlib import Path

from transformer_mb.compare.document import document
from transformer_mb.compare.records import read_facts

ROOT = Path(__file__).parents[2]
PAGE = document(read_facts(ROOT / "benchmarks" / "results" / "behaviours.json"))


def test_a_topic_repeats_no_reason_more_than_twice():
    for topic in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        lines = [line for line in topic.splitlines() if line and not line.startswith(("|", "-", "#", "To have", "Sources"))]
        reasons = [line for line in lines if re.search(r"\bha(s|ve) no\b", line)]
        assert all(reasons.count(line) <= 2 for line in reasons), topic.splitlines()[0]


def test_each_link_of_the_index_leads_to_a_section_in_which_the_framework_answers_alone():
    (index,) = re.findall(r"^## Where one framework differs.*?(?=^## )", PAGE, flags=re.MULTILINE | re.DOTALL)
    sections = {
        re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-"): body
        for heading, body in re.findall(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    }
    rows = re.findall(r"^- \*\*(\w+)\*\*: (.*)$", index, flags=re.MULTILINE)
    assert [framework for framework, _ in rows] == ["jax", "mxnet", "numpy", "paddle", "tensorflow", "torch"]
    for framework, links in rows:
        anchors = re.findall(r"\(#([^)]*)\)", links)
        assert anchors
        assert all(re.search(rf"^\| .* \| {framework} \|$", sections[anchor], flags=re.MULTILINE) for anchor in anchors)
