"""The report of a sweep says what the runs say, and refuses to mix two of a kind."""

import json

import pytest

from parity.sweeps.conftest import made_up
from transformer_mb.cli.main import main
from transformer_mb.errors import ParityError
from transformer_mb.parity.cells import EXPECTED
from transformer_mb.parity.sweeping.sweep import collected

UNMEASURED = made_up(3)["results"][0] | {"error": None, "status": EXPECTED}


@pytest.fixture
def swept(folder, units):
    """A function: a folder with one made-up run for each of several changes."""

    def write(*changes, labels=()):
        for unit, change in zip(units(len(changes), *labels), changes, strict=True):
            folder.plan(unit)
            if change is not None:
                folder.write(unit, made_up(unit.selection.seed, **change), 1)
        return folder

    return write


def test_the_closest_of_each_row_with_its_seed_and_the_least_of_any(swept):
    unmeasured = {"results": [UNMEASURED], "passed": 0, "expected_failures": 1}
    findings = collected(swept({}, {"error": 3e-13}, {}, unmeasured))
    (nearest,) = findings.nearest.values()
    assert (nearest.seed, nearest.runs, findings.seeds) == (1, 3, {0, 1, 2, 3})
    assert nearest.share == pytest.approx(0.6) and nearest.lowest == pytest.approx(0.01)
    (told,) = findings.to_json()["closest"]
    assert told["seed"] == 1 and told["share"] == nearest.share and told["backend"] == "numpy"
    assert findings.holds


def test_failures_are_told_once_with_their_seeds(swept, capsys):
    off = made_up(0)["results"][0] | {"status": "failed", "reason": "off by 1"}
    two = {"cells": 2, "planned": 2, "passed": 0, "failed": 2, "results": [off, off | {"case": "layer norm, eps"}]}
    folder = swept({"passed": 0, "failed": 1, "results": [off]}, {}, two)
    assert main(["parity", "--collect", str(folder.folder)]) == 1
    said = capsys.readouterr().out
    assert "FAILED seeds 0, 2, numpy, 3 cells (layer forward: layer norm [float64]): off by 1\n" in said
    assert "3 of 3 units read: 4 cells over 3 seeds, 3 failed" in said


CONTROL = {"control": "a mistake", "row": "layer forward", "case": "layer norm", "dtype": "float64", "backend": "numpy"}
MISSED = [CONTROL | {"caught": caught, "reason": ""} for caught in (*[True] * 8, False)]
INCOMPLETE = {
    "a mistake was missed": (
        {"controls": {"planted": 9, "caught": 8}, "control_results": MISSED},
        "seed 0: 1 of 9 planted mistakes were missed",
    ),
    "an idle column": ({"idle": ["jax executed no cell."]}, "seed 0: jax executed no cell."),
    "cells are missing": ({"planned": 2}, "seed 0: 1 of 2 cells were executed"),
    "more results than cells": (
        {"cells": 1, "passed": 2, "results": [made_up(0)["results"][0] | {"case": case} for case in "ab"]},
        "seed 0: 2 of 1 cells have a result",
    ),
}


@pytest.mark.parametrize("kind", INCOMPLETE)
def test_what_else_keeps_a_sweep_from_holding(kind, swept):
    change, words = INCOMPLETE[kind]
    findings = collected(swept(change, {}))
    assert not findings.holds and findings.incomplete == [words]


def test_a_unit_that_was_planned_and_never_run_is_missed_by_name(swept, units, capsys):
    assert main(["parity", "--collect", str(swept({}, None).folder)]) == 1
    said = capsys.readouterr().out
    assert f"NOT EXECUTED seed 1, {units(2)[1].name}: it was planned, and has no result" in said
    assert "1 of 2 units read" in said


def test_a_seed_that_nobody_planned_is_missed_where_it_is_asked_for(swept, capsys):
    folder = str(swept({}, {}).folder)
    assert main(["parity", "--collect", folder, "--seeds", "0-1"]) == 0
    assert main(["parity", "--collect", folder, "--seeds", "0-3"]) == 1
    said = capsys.readouterr().out
    assert "NOT EXECUTED seed 3, no unit: nobody has planned it here" in said and "2 of 4 units read" in said


def test_one_column_with_two_versions_is_refused(swept):
    folder = swept({}, {"version": "2.0", "host": "there"})
    with pytest.raises(ParityError, match=r"got 1.26 on cpu \(on host .*here\) and 2.0 on cpu \(on host .*there\)|got 2.0 on"):
        collected(folder)


def test_one_column_on_two_kinds_of_device_is_refused(swept):
    with pytest.raises(ParityError, match="numpy must be one version on one kind of device"):
        collected(swept({}, {"devices": {"numpy": "cuda:1"}}))
    assert collected(swept({"devices": {"numpy": "cuda:0"}}, {"devices": {"numpy": "cuda:1"}})).holds


def test_two_versions_under_two_names_are_told_as_each_said(swept, tmp_path, capsys):
    two = {"versions": {"numpy": "1.26", "numpy@new": "2.0"}, "devices": {"numpy": "cpu", "numpy@new": "cpu"}}
    out = tmp_path / "found.json"
    assert main(["parity", "--collect", str(swept(two, two, labels=("numpy", "numpy@new")).folder), "--json", str(out)]) == 0
    assert json.loads(out.read_text())["versions"] == {"numpy": "1.26 on cpu", "numpy@new": "2.0 on cpu"}
    assert "numpy@new 2.0 on cpu" in capsys.readouterr().out


def test_units_of_two_states_of_the_code_are_refused(swept, units, monkeypatch):
    folder = swept({}, {})
    monkeypatch.setattr("transformer_mb.parity.sweeping.unit.source_digest", lambda: "another")
    folder.write(units(1)[0], made_up(0), 1)
    with pytest.raises(ParityError, match="must be measured by one transformer_mb"):
        collected(folder)


WRONG = {
    "--collect DIR --out DIR": "--collect must come with --seeds, --json and --force alone, got --out",
    "--collect DIR --backends numpy": "--collect must come with --seeds, --json and --force alone, got --backends",
    "--collect DIR": "which holds no unit",
    "--collect nowhere": "which is no folder",
    "--seeds 0": "A sweep needs --seeds and --out, got --seeds",
    "--on ray": "A sweep needs --seeds and --out, got --on",
    "--seeds 0 --out DIR --address auto": "--address must come with --on ray",
    "--seeds 0 --out DIR --on slurm": "--on must be local or ray, got 'slurm'",
    "--seeds 0 --out DIR --seed 3 --every-case": "--seed, --every-case must be of a single run",
    "--seeds 0 --out DIR --on ray --needs CPU=2": "--needs must be NAME=AMOUNT, above 0, of anything but CPU",
    "--seeds 0 --out DIR --backends numpy --cases nonesuch": "'nonesuch' must match one of",
}


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_says_what_is_wrong(call, tmp_path, capsys):
    assert main(["parity", *call.replace("DIR", str(tmp_path)).split()]) == 2
    assert WRONG[call] in capsys.readouterr().err
    assert not list(tmp_path.glob("units/*"))


def test_a_file_that_is_no_sweeps_result_is_not_replaced(swept, tmp_path, capsys):
    out = tmp_path / "mine.json"
    out.write_text("mine")
    assert main(["parity", "--collect", str(swept({}).folder), "--json", str(out)]) == 2
    assert "must be new, or hold an earlier result of a sweep" in capsys.readouterr().err and out.read_text() == "mine"
