"""``parity``: which cells it takes, how it fails, what it leaves, and with which status it ends."""

import importlib.abc
import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from transformer_mb.built_in import PLAIN_DTYPES
from transformer_mb.columns.options import parsed_columns
from transformer_mb.parity import matrix

ONE = ("parity", "--backends", "numpy", "--cases", "layer forward: ffn relu [float64]")
NOT_EVEN_FORCE = "not even --force replaces that"


@pytest.fixture
def never_runs(monkeypatch):
    monkeypatch.setattr(matrix, "run_matrix", lambda *arguments, **options: pytest.fail("it ran"))


@pytest.fixture
def without(monkeypatch):
    """Packages that cannot be imported, as if they were not installed."""

    class Missing(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name in self.names:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    def hide(*names):
        missing = Missing()
        missing.names = names
        for name in names:
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(sys, "meta_path", [missing, *sys.meta_path])

    return hide


def test_an_id_as_it_is_printed_selects_its_cell(cli):
    outcome = cli("parity", "--backends", "numpy", "--cases", "layer forward: encoder [float64]")
    assert outcome.status == 0 and "1 of 1 cell executed: 1 passed" in outcome.out


def test_list_prints_the_ids_of_a_selection_and_runs_none(cli, never_runs, without):
    without("execnet")
    listed = cli("parity", "--backends", "numpy,torch", "--list", "--cases", "*: ffn relu*", "--dtype", "float32,bfloat16")
    assert listed.status == 0 and listed.err == ""
    assert listed.out.splitlines()[:2] == ["layer forward: ffn relu [float32]", "layer gradients: ffn relu [float32]"]
    assert all(line.endswith(("[float32]", "[bfloat16]")) for line in listed.out.splitlines())
    pasted = "|".join(listed.out.splitlines())
    assert cli("parity", "--backends", "torch", "--list", "--cases", pasted).out == listed.out
    assert "hand-over, first step: from torch [float64]" in cli("parity", "--backends", "numpy,torch", "--list").out


NOTHING = {
    "layer norm": "with stars, '*layer norm*' matches 'layer forward: layer norm [float32]'",
    "layer forwrd: encodr [float64]": "near to it is 'layer forward: encoder [float64]'",
    "layer forwad": "near to it is '*layer forward*'",
    "hand-over*": "but only others have 'hand-over, first step: from torch [float32]'",
    "qqqq": "ids, such as 'layer forward: layer norm [float32]'",
    "layer forward: ffn relu*|layer nrom": "'layer nrom' must match",
}


@pytest.mark.parametrize("pattern", NOTHING)
def test_a_pattern_that_takes_nothing_suggests_what_would(pattern, fails, never_runs):
    arguments = ("parity", "--backends", "numpy", "--dtype", ",".join(PLAIN_DTYPES), "--cases", pattern)
    message = fails(*arguments)
    assert "No cell was selected" in message and NOTHING[pattern] in message


def test_a_worker_that_cannot_start_is_told_in_one_line(cli, tmp_path):
    arguments = ("parity", "--backends", "numpy", "--device", "cuda", "--cases", "layer*: ffn relu*", "--dtype", "float64")
    outcome = cli(*arguments, "--json", tmp_path / "j.json", "--junit", tmp_path / "j.xml")
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("FAILED")]
    words = "The worker of numpy could not begin: The device of backend numpy must be one of cpu, got 'cuda': "
    words += "NumPy computes on processors alone. `transformer-mb backends` lists the devices of all."
    assert outcome.status == 1
    assert line == f"FAILED numpy, 2 cells (layer forward: ffn relu [float64], ...): {words}"
    run, suite = json.loads((tmp_path / "j.json").read_text()), ElementTree.parse(tmp_path / "j.xml").getroot()
    assert run["failed"] == len(run["results"]) == 2 and suite.get("failures") == suite.get("tests") == "2"


def test_what_depends_on_a_missing_worker_is_one_line_too(cli, tmp_path):
    missing = ",".join(f"numpy@{label}={tmp_path / label}" for label in "ab")
    outcome = cli("parity", "--backends", "numpy@a", "--python", missing, "--cases", "hand-over*", "--dtype", "float64")
    lines = [line for line in outcome.out.splitlines() if line.startswith("FAILED")]
    why = "left no state to continue from: The worker of numpy@b could not be started: [Errno 2] No such file or directory"
    assert outcome.status == 1 and len(lines) == 2
    whose = "FAILED numpy@a, 2 cells (hand-over, first step: from numpy@b [float64], ...)"
    assert any(line.startswith(f"{whose}: numpy@b {why}") for line in lines)


WRONG_DEVICES = {
    (
        "--device",
        "cpu,cuda",
    ): "--device must be one device for all columns, and NAME=DEVICE for a single one, got 'cpu', 'cuda'.",
    ("--device", "cpu", "--device", "cuda"): "got 'cpu', 'cuda'.",
    ("--device", ""): "--device must be one device for all columns",
    ("--device", "tensorflow=cpu"): "--device must name columns of this run (numpy), got tensorflow.",
    ("--device", "numpy=cpu,numpy=cuda"): "--device must give numpy once, got 'cpu' and 'cuda'.",
}


@pytest.mark.parametrize("options", list(WRONG_DEVICES), ids=" ".join)
def test_a_device_that_nothing_would_use_is_refused(options, fails, never_runs):
    assert WRONG_DEVICES[options] in fails(*ONE, *options)


def test_commas_separate_in_every_option_of_columns():
    specs = parsed_columns(
        ["numpy", "torch,jax"], PLAIN_DTYPES, ["cpu,torch=cuda"], ["torch=/a,b/python,jax@old=/c"], ["numpy=one,jax=two"]
    )
    found = {spec.label: (spec.python, spec.ssh, spec.device) for spec in specs}
    assert found == {
        "numpy": (None, "one", "cpu"),
        "torch": ("/a,b/python", None, "cuda"),
        "jax": (None, "two", "cpu"),
        "jax@old": ("/c", None, "cpu"),
    }


def test_numpy_stays_on_the_processor_beside_frameworks_that_do_not():
    def devices(*backends):
        return [spec.device for spec in parsed_columns(backends, PLAIN_DTYPES, ["cuda"])]

    assert devices("numpy", "torch@cuda", "jax") == ["cpu", "cuda", "cuda"] and devices("numpy") == ["cuda"]


def test_one_cause_is_drawn_once_and_every_model_has_its_folder(cli, tmp_path, faulty_backends):
    names = ("d2l", "shared and tied, padding", "d2l, one token", "encoder alone")
    cases = "|".join(f"model forward: {name} [float64]" for name in names)
    outcome = cli("parity", "--backends", "moved_epsilon", "--cases", cases, "--dump", tmp_path / "dump")
    lines = outcome.out.splitlines()
    arrows = [line.split(":")[0].strip() for line in lines if line.endswith("<-- first to differ")]
    assert outcome.status == 1 and arrows == ["x encoder.blks.block0.addnorm1", "x encoder.embed"]
    others = "model forward: shared and tied, padding [float64]; model forward: d2l, one token [float64]"
    assert f"2 more of moved_epsilon differ from the same place on: {others}" in lines
    dumped = {folder.name: len(list(folder.iterdir())) for folder in (tmp_path / "dump" / "moved_epsilon").iterdir()}
    assert set(dumped) == {f"model forward, {name}, float64" for name in names} and all(dumped.values())


STATUSES = {
    "a cell failed": (1, ("parity", "--backends", "nan", *ONE[3:])),
    "a package is not there": (1, ("parity", "--backends", "absent", *ONE[3:])),
    "a backend was mistyped": (2, ("parity", "--backends", "nunpy", *ONE[3:])),
    "no backend": (2, ("parity", "--backends", ",", *ONE[3:])),
    "nothing for a backend": (2, ("parity", "--backends", "", *ONE[3:])),
    "no dtype": (2, (*ONE, "--dtype", ",")),
    "no cell": (2, ("parity", "--backends", "numpy", "--cases", "")),
    "no number": (2, (*ONE, "--jobs", "many")),
}


@pytest.mark.parametrize("what", STATUSES)
def test_the_status_tells_what_failed_from_a_wrong_call(what, cli, faulty_backends):
    status, arguments = STATUSES[what]
    outcome = cli(*arguments)
    assert outcome.status == status and "but ." not in outcome.err
    assert ("FAILED" in outcome.out) == (status == 1)


def test_the_help_says_every_status(cli):
    words = " ".join(cli("parity", "--help").out.split())
    assert all(text in words for text in ("Exit status: 0 all cells", "1 a cell failed", "2 the call was wrong", "130 Ctrl-C"))


def test_without_execnet_the_install_line_is_told(fails, without):
    without("execnet")
    assert "pip install 'execnet>=" in fails(*ONE)


def test_without_matplotlib_curves_are_refused_before_the_work(cli, fails, without, never_runs, tmp_path, monkeypatch):
    without("matplotlib")
    free = ("parity", "--backends", "numpy", "--cases", "free-running: * [float64]", "--report", tmp_path / "report")
    assert "pip install 'matplotlib>=" in fails(*free)
    assert not (tmp_path / "report").exists()
    monkeypatch.undo()
    without("matplotlib")
    assert cli(*ONE, "--report", tmp_path / "report").status == 0  # a table needs no matplotlib


def test_parity_tries_places_before_the_work(fails, never_runs, tmp_path):
    (tmp_path / "file").write_text("mine")
    for option, place, words in (
        ("--report", "/proc/x", "--report must be a place that can be written, got /proc/x: No such file"),
        ("--dump", "/proc/x", "--dump must be a place that can be written, got /proc/x: No such file"),
        ("--json", tmp_path, f"--json must be a place that can be written, got {tmp_path}: Is a directory."),
        ("--report", tmp_path / "file", "--report must be a place that can be written"),
        ("--dump", tmp_path / "file", "--dump must be a place that can be written"),
    ):
        assert words in fails(*ONE, option, place)
    same = tmp_path / "result"
    assert "--json and --junit must be two places" in fails(*ONE, "--json", same, "--junit", same)


def test_earlier_results_of_parity_are_replaced_and_nothing_else_without_force(cli, fails, tmp_path):
    places = {"--json": tmp_path / "a" / "run.json", "--junit": tmp_path / "run.xml", "--report": tmp_path / "report"}
    files = [*(places[option] for option in ("--json", "--junit")), places["--report"] / "matrix.md"]
    options = [word for pair in places.items() for word in pair]
    assert cli(*ONE, *options).status == 0
    first = [file.stat().st_ino for file in files]
    assert cli(*ONE, *options).status == 0
    assert all(file.stat().st_ino != before for file, before in zip(files, first, strict=True))
    for option, file in zip(places, files, strict=True):
        file.write_text("what somebody wrote")
        assert "--force replaces it" in fails(*ONE, option, places[option])
        assert file.read_text() == "what somebody wrote"
        assert cli(*ONE, option, places[option], "--force").status == 0 and "somebody" not in file.read_text()


def test_a_result_of_another_option_is_somebodys_file(fails, cli, tmp_path, never_runs):
    (tmp_path / "run.json").write_text('{"cells": 1}')
    assert "--junit must be new" in fails(*ONE, "--junit", tmp_path / "run.json")


def test_parity_does_not_replace_its_data(own_data, fails):
    before = own_data.read_bytes()
    cells = ("parity", "--backends", "numpy", "--cases", "layer forward: ffn relu [float64]")
    assert NOT_EVEN_FORCE in fails(*cells, "--data", own_data, "--json", own_data, "--force")
    assert own_data.read_bytes() == before


def test_cells_of_a_device_that_is_not_there_are_failed_and_not_executed(cli, tmp_path):
    cells = ("parity", "--backends", "numpy", "--device", "cuda", "--cases", "layer forward: ffn*")
    done = cli(*cells, "--json", tmp_path / "run.json", "--report", tmp_path / "report")
    run = json.loads((tmp_path / "run.json").read_text())
    assert done.status == 1 and run["cells"] == 0 < run["failed"] == run["planned"] == len(run["results"])
    assert f"0 of {run['planned']} cells executed: 0 passed, {run['planned']} failed" in done.out
    assert f"0 of {run['planned']} cells, 0 passed" in (tmp_path / "report" / "matrix.md").read_text()
    assert "judged" not in done.err
