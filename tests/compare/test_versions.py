"""Installed versions of one framework beside each other."""

import json
import sys
from pathlib import Path

import pytest

from transformer_mb.cli.main import main
from transformer_mb.columns.column import Column
from transformer_mb.compare.facts import Fact
from transformer_mb.compare.installed.measuring import Version, Versions, check_columns, read_versions
from transformer_mb.compare.installed.page import CAUSES, behaviours, page, summary
from transformer_mb.compare.installed.report_page import sections_of
from transformer_mb.compare.installed.speed import FIGURES
from transformer_mb.errors import ConfigError
from transformer_mb.reports.page import page_text

ROOT = Path(__file__).parents[2]
RESULTS = [ROOT / "benchmarks" / "results" / f"versions_{name}.json" for name in ("jax", "torch")]


def comparison(**values):
    """Two columns; by probe the values of both."""
    labels = ("a@old", "a")
    facts = [Fact(name, label, "", value) for name, pair in values.items() for label, value in zip(labels, pair, strict=True)]
    columns = [Version(label, {"a": label}, dict.fromkeys(FIGURES, 1.0)) for label in labels]
    return Versions(tuple(columns), tuple(facts))


def test_what_differs_comes_first_and_refusals_after_it():
    found = comparison(
        **{
            "gelu function": ("raises AttributeError", "tanh"),
            "layer norm epsilon": (1e-5, 1e-5 * (1 + 1e-9)),
            "leaky relu layer": (0.01, 0.01),
            "layer norm at mean 1000": (1e-5, 1e-1),
            "relu of NaN": ("NaN", "zero"),
            "Adam weight decay": (None, "into the gradient"),
        }
    )
    assert list(found.different()) == ["relu of NaN", "Adam weight decay", "gelu function"]
    assert summary(found) == "6 probes of a@old, a: 3 differ, 3 are the same"
    assert behaviours(found)[0] == ("relu of NaN", "NaN", "zero")
    assert behaviours(found)[1] == ("Adam weight decay", "has none", "into the gradient")


def test_probes_with_the_same_answers_share_a_row():
    found = comparison(**{"relu of NaN": ("NaN", "zero"), "dropout of all": ("NaN", "zero")})
    assert behaviours(found) == [("relu of NaN; dropout of all", "NaN", "zero")]


def test_columns_are_two_of_one_framework():
    for labels in ([], ["torch"], ["torch", "jax"], ["torch@old", "numpy"]):
        with pytest.raises(ConfigError, match="must be given at least two columns of one framework, got"):
            check_columns([Column(label) for label in labels])
    check_columns([Column("torch@old"), Column("torch")])


def test_the_command_finds_nothing_where_nothing_differs(tmp_path, capsys):
    """One version twice; the columns keep their order, and the files say what the screen does."""
    command = ["compare", "versions", f"numpy@twin={sys.executable}", "numpy", "--only", "variance*|a sum of*"]
    files = ["--json", str(tmp_path / "v.json"), "--markdown", str(tmp_path / "v.md"), "--report", str(tmp_path / "report")]
    assert main([*command, "--cases", "optimizer step: sgd*", *files]) == 0
    out = capsys.readouterr().out
    assert "numpy@twin, numpy: 0 differ" in out and max(map(len, out.splitlines())) <= 100
    found = read_versions(tmp_path / "v.json")
    assert [one.label for one in found.versions] == ["numpy@twin", "numpy"] and not found.different()
    for one in found.versions:
        assert set(one.speed) == set(FIGURES) and all(figure > 0.0 for figure in one.speed.values())
        assert set(one.cells) == {"passed"} and 0.0 <= one.closest < 1.0 and one.reason == ""
    assert (tmp_path / "v.md").read_text() == page([found])
    assert (tmp_path / "report" / "index.html").read_text() == page_text(sections_of(found))


def test_the_command_refuses_other_columns(capsys):
    assert main(["compare", "versions", "numpy"]) == 2
    assert "at least two columns of one framework, got numpy" in capsys.readouterr().err
    assert main(["compare", "versions", "no_such@old=python", "numpy"]) == 2
    assert "must name some of" in capsys.readouterr().err


def test_an_interpreter_without_this_package_is_told_how_to_get_it(tmp_path, capsys):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    assert main(["compare", "versions", f"numpy@bare={python}", "numpy", "--only", "variance*"]) == 1
    err = capsys.readouterr().err
    assert "No module named 'transformer_mb'; install it with" in err and "pip install --editable" in err


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ConfigError, match="must be what `compare versions --json` writes"):
        read_versions(tmp_path / "other.json")


def test_the_document_is_the_committed_runs():
    assert (ROOT / "docs" / "VERSIONS.md").read_text() == page([read_versions(path) for path in RESULTS])


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_two_versions_differ_in_more_than_what_one_of_them_lacks(path):
    found = read_versions(path)
    both = [facts for facts in found.different().values() if not any(str(fact.value).startswith("raises") for fact in facts)]
    assert set(CAUSES[path.stem.removeprefix("versions_")]) <= set(found.different())
    assert both and "/" not in json.dumps([one.packages for one in found.versions])
