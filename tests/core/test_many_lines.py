"""A million lines: the committed run, a run here, and one shard at a time in memory where they are collected."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from transformer_mb.corpora.folder import CorpusFolder
from transformer_mb.corpora.ranges import Range
from transformer_mb.corpora.shard import Task, shards_of
from transformer_mb.inference.line_answers import Search

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "many_lines.py"
RESULTS = ROOT / "benchmarks" / "results" / "many_lines.json"
ROWS = 2000


def a_corpus(folder, count):
    """A folder of so many finished shards, whose rows tell the numbers of their lines."""
    task = Task((), {"device": None}, Search(1, 1.0, None, 0.0, None, None, False), "stop")
    ranges = [Range("lines.txt", 1 + ROWS * number, 1 + ROWS * number, ROWS, 0, 0, f"{number}") for number in range(count)]
    corpus = CorpusFolder(folder)
    for shard in shards_of(ranges, task):
        corpus.plan(shard)
        rows = [f"translation of line {shard.range.first + number}" for number in range(ROWS)]
        corpus.write(shard, {"tokens": 3, "long": 0, "unended": 0, "host": "here", "lines": ROWS, "rows": rows}, 1)
    return corpus


def peak(corpus):
    """Measure the most that Python had in memory while the lines were read, and count them."""
    tracemalloc.start()
    try:
        count = sum(len(rows) for rows in corpus.rows())
        return tracemalloc.get_traced_memory()[1], count
    finally:
        tracemalloc.stop()


def test_forty_shards_are_collected_in_the_memory_of_four(tmp_path):
    few, many = a_corpus(tmp_path / "few", 4), a_corpus(tmp_path / "many", 40)
    assert peak(few)[1] == 4 * ROWS  # what is imported on first use is there after it
    (least, _), (most, count) = peak(few), peak(many)
    assert count == 40 * ROWS and most < 1.5 * least


def held(found, lines):
    """Hold a run of the program to its claims: every line once and in order, in the memory of ten thousand lines."""
    few, many = found["runs"].values()
    assert (few["lines"], many["lines"]) == (10_000, lines)
    assert few["lines_as_alone"] == few["lines"] and many["lines_as_alone"] == many["lines"]
    assert 0 < many["done_before_the_command_was_killed"] < many["shards"] and many["lost_with_the_node"] > 0
    assert set(many["mib"]) == set(few["mib"]) == {"Ray's worker", "command", "command, collecting", "shard"}
    assert all(many["mib"][kind] < 1.2 * few["mib"][kind] for kind in few["mib"])


def test_the_committed_run_translated_each_line_once_in_the_memory_of_ten_thousand():
    held(json.loads(RESULTS.read_text()), 1_000_000)


def test_the_page_holds_the_committed_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- many-lines: begin -->\n<!-- many-lines: end -->\n")
    command = [sys.executable, PROGRAM, "--measured", RESULTS, "--page", page]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert page.read_text() in (ROOT / "docs" / "CORPORA.md").read_text()


@pytest.mark.long
def test_a_million_lines_though_a_node_leaves_and_the_command_is_killed(tmp_path):
    found = tmp_path / "found.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, PROGRAM, "--folder", tmp_path, "--json", found], check=True, env=environment)
    held(json.loads(found.read_text()), 1_000_000)
