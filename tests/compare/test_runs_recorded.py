"""The committed comparison of all backends, and the document that is made of it."""

import json
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.compare.training.comparison import read_comparison
from transformer_mb.compare.training.runner import METRICS
from transformer_mb.compare.training.runs_page import document
from transformer_mb.compare.training.verdicts import lines, self_control
from transformer_mb.errors import ConfigError

ROOT = Path(__file__).parents[2]
FILE = ROOT / "benchmarks" / "results" / "runs.json"
CONTENT = json.loads(FILE.read_text())


def values(metric, column):
    """In the order of the seeds."""
    return [run[metric] for run in sorted(CONTENT["runs"], key=lambda run: run["seed"]) if run["column"] == column]


def test_the_document_is_the_committed_run():
    assert (ROOT / "docs" / "RUNS.md").read_text() == document(read_comparison(FILE))


def test_six_backends_train_the_same_model():
    assert {run["column"] for run in CONTENT["runs"]} == set(BUILT_IN) and len(CONTENT["runs"]) == 6 * 12
    assert set(CONTENT["verdicts"].values()) <= {"same", "undecided"}


@pytest.mark.parametrize("metric", METRICS)
def test_the_verdicts_are_those_of_the_recorded_runs(metric):
    reference, *others = dict.fromkeys(run["column"] for run in CONTENT["runs"])
    found = lines(metric, values(metric, reference), {other: values(metric, other) for other in others})
    recorded = [line for line in CONTENT["lines"] if line["metric"] == metric]
    assert [(line.column, line.verdict) for line in found] == [(line["column"], line["verdict"]) for line in recorded]
    assert [line.difference for line in found] == pytest.approx([line["difference"] for line in recorded])


@pytest.mark.parametrize("metric", METRICS)
def test_the_reference_is_seldom_different_from_itself(metric):
    assert self_control({metric: values(metric, "numpy")})[metric] <= 0.05
    assert CONTENT["alarms"][metric] <= 0.05


def test_a_file_that_is_no_comparison(tmp_path):
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ConfigError, match="must be what `compare runs --json` writes"):
        read_comparison(tmp_path / "other.json")
