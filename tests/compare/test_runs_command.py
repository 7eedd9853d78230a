"""`transformer-mb compare runs`: its table, its files, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from transformer_mb.cli.commands.compare.runs import parsed_seeds, show_comparison
from transformer_mb.cli.main import main
from transformer_mb.compare.training import job
from transformer_mb.compare.training.comparison import read_comparison
from transformer_mb.compare.training.report_page import section
from transformer_mb.compare.training.runs_page import document
from transformer_mb.errors import ConfigError
from transformer_mb.reports.page import page_text
from transformer_mb.reports.table import WIDEST

RECORDED = Path(__file__).parents[2] / "benchmarks" / "results" / "runs.json"
SMALL = {"num_hiddens": 8, "num_layers": 1, "steps": 12, "warmup_steps": 2}
SHORT = replace(job.built_in_job(), held_out=job.built_in_job().held_out[:9], **SMALL)


@pytest.fixture
def short(monkeypatch):
    """The processes are given the job that this one has."""
    split = job.split_job
    monkeypatch.setattr(job, "built_in_job", lambda: SHORT)
    monkeypatch.setattr(job, "split_job", lambda name, pairs: replace(split(name, pairs), **SMALL))


def test_the_command(short, tmp_path, capsys):
    files = {"--json": tmp_path / "runs.json", "--markdown": tmp_path / "RUNS.md", "--report": tmp_path / "report"}
    options = [str(part) for pair in files.items() for part in pair]
    assert main(["compare", "runs", "--backends", "torch", "--seeds", "5", *options]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= WIDEST
    assert "5 seeds of 12 steps, everything injected; reference numpy; margin 1.25 s" in shown
    assert "\nsame: torch\n" in shown
    written = json.loads(files["--json"].read_text())
    assert written["verdicts"] == {"torch": "same"} and len(written["runs"]) == 10
    assert {run["column"] for run in written["runs"]} == {"numpy", "torch"}
    losses = written["curves"]["losses"]
    assert written["curves"]["steps"] == [*range(1, 13)] and {name: len(runs) for name, runs in losses.items()} == {
        "numpy": 5,
        "torch": 5,
    }
    assert losses["torch"][0] == pytest.approx(losses["numpy"][0], rel=1e-3)
    assert page_text([section(written)]) == (files["--report"] / "index.html").read_text()
    assert files["--markdown"].read_text() == document(read_comparison(files["--json"]))


@pytest.mark.long
def test_a_file_of_pairs_and_everything_native(short, tmp_path, capsys):
    """Two seeds: trained, told, and no verdict; a native comparison exits 0 whatever it finds."""
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"a {i} b\tc {i} d\n" for i in range(60)))
    written = tmp_path / "runs.json"
    command = ["compare", "runs", "--backends", "torch", "--seeds", "3-4", "--native", "--data", str(data)]
    assert main([*command, "--json", str(written)]) == 0
    shown = capsys.readouterr().out
    assert "no verdict (needs at least 5 seeds)" in shown and "no verdict: torch" in shown
    assert "torch, epsilon: Its own epsilon is 1e-05 too." in shown
    content = json.loads(written.read_text())
    assert content["job"]["name"] == "pairs.tsv" and content["job"]["pairs"] == 54 and content["seeds"] == [3, 4]
    assert content["runs"][-1]["own"] == ["dropout", "init", "optimizer"]


def test_seeds_are_a_number_or_a_range():
    assert parsed_seeds("12") == parsed_seeds("0-11") == list(range(12)) and parsed_seeds("3-4") == [3, 4]
    for wrong in ("", "x", "1-", "-1", "1.5", "0,1"):
        with pytest.raises(ConfigError, match="--seeds must be a number of seeds such as 12, or a range such as 0-11, got"):
            parsed_seeds(wrong)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--seeds", "many"], "--seeds must be a number of seeds such as 12, or a range such as 0-11, got 'many'."),
        (["--seeds", "1"], "seeds must be at least two different ones from 0 on, got [0]."),
        (["--seeds", "9-3"], "seeds must be at least two different ones from 0 on, got []."),
        (["--margin", "-1"], "margin must be above 0, got -1.0."),
        (["--attribute"], "attribute needs native: with everything injected there is nothing to attribute."),
        (["--backends", "numpy"], "backends must name another than the reference numpy, got numpy alone."),
        (["--backends", "theano"], "--backends must name some of "),
        (["--reference", "theano"], "The backend must be one of "),
        (["--data", "absent.tsv"], "absent.tsv"),
    ],
)
def test_what_it_refuses(short, options, words, capsys):
    assert main(["compare", "runs", *options]) == 2
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1


def test_a_wide_table_fits(capsys):
    show_comparison(read_comparison(RECORDED))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= WIDEST and "…" not in shown
