"""A file of a sweep that is not what a run writes is named and refused, one by one; the others are collected."""

import json
import os

import pytest

from parity.sweeps.conftest import made_up
from transformer_mb.cli.main import main
from transformer_mb.parity.sweeping.sweep import collected

RESULT = made_up(0)["results"][0]
CONTROL = {"control": "a mistake", "row": "layer forward", "case": "layer norm", "dtype": "float64", "backend": "numpy"}


@pytest.fixture
def two(folder, units):
    """The folder of two units, and the first one's two files."""
    for unit in units(2):
        folder.plan(unit)
        folder.write(unit, made_up(unit.selection.seed), 1)
    name = f"{units(1)[0].name}.json"
    return folder, folder.folder / "units" / name, folder.folder / "planned" / name


def wrong_sums():
    failed = RESULT | {"status": "failed"}
    return {
        "no results": ({"results": []}, "passed must be the number of such results in the file, 0, got 1"),
        "cells alone": ({"results": [], "passed": 0}, "cells must be at most the number of results in the file, 0, got 1"),
        "a failure less": ({"failed": 1}, "failed must be the number of such results in the file, 0, got 1"),
        "a failure more": (
            {"results": [failed], "passed": 0},
            "failed must be the number of such results in the file, 1, got 0",
        ),
        "a cell twice": (
            {"results": [RESULT] * 2, "passed": 2, "cells": 2},
            "each cell must have one result, got several of numpy",
        ),
        "another column": (
            {"results": [RESULT | {"backend": "jax"}]},
            "backend of each result must be one of numpy, got 'jax'",
        ),
        "no column": ({"versions": {}, "devices": {}}, "versions must be of the columns numpy, got none"),
        "controls": (
            {"controls": {"planted": 9, "caught": 9}},
            "planted of controls must be the number of such results in the fil",
        ),
        "caught": (
            {"controls": {"planted": 1, "caught": 1}, "control_results": [CONTROL | {"caught": False, "reason": ""}]},
            "caught of controls must be the number of such results in the file, 0, got 1",
        ),
    }


def wrong_results():
    return {
        "no cells at all": (
            {"results": [], "passed": 0, "cells": 0, "planned": 0},
            "planned must be at least 1, got 0",
        ),
        "above its limit": (
            {"results": [RESULT | {"error": 0.5}]},
            "error of result 1, which passed, must be from 0 to its limit, 1e-12, got 0.5",
        ),
        "below zero": ({"results": [RESULT | {"error": -1.0}]}, "error of result 1, which passed, must be from 0 to its limit"),
        "no limit": (
            {"results": [RESULT | {"limit": None}]},
            "error of result 1, which passed, must be from 0 to its limit, None",
        ),
        "no column that ran": (
            {"versions": {"numpy": None}},
            "result 1 of numpy must have failed, since that column did not start, got passed",
        ),
    }


def wrong_types():
    return {
        "cells as text": ({"cells": "12"}, 'cells of the file must be a whole number, got "12"'),
        "cells as true": ({"cells": True}, "cells of the file must be a whole number, got true"),
        "controls as list": ({"controls": []}, "controls of the file must be an object, each value anything, got []"),
        "versions as list": ({"versions": ["1"]}, "versions of the file must be an object, each value text or null, got"),
        "idle as text": ({"idle": "jax"}, 'idle of the file must be a list, each item text, got "jax"'),
        "an unknown field": ({"results": [RESULT | {"more": 1}]}, 'result 1 must have no other fields than row, case, dtype'),
        "a field less": ({"results": [{"row": "x"}]}, "result 1 must have case, dtype, backend, status, reason, but it has"),
        "an error as text": ({"results": [RESULT | {"error": "0"}]}, 'error of result 1 must be a number or null, got "0"'),
        "an error that is no number": ({"results": [RESULT | {"error": float("nan")}]}, "error of result 1 must be a number"),
        "an error beyond any float": ({"results": [RESULT | {"error": 10**400}]}, "error of result 1 must be a number or null"),
        "a status": ({"results": [RESULT | {"status": "fine"}]}, "status of result 1 must be one of passed, failed"),
        "the unit as list": ({"unit": []}, "unit of the file must be an object, each value anything, got []"),
        "the seed as text": ({"unit": {"seed": "0"}}, "the unit must have columns, dtypes, cases, controls, data, timeout"),
    }  # fmt: skip


WRONG = wrong_sums() | wrong_results() | wrong_types()


@pytest.mark.parametrize("kind", WRONG)
def test_a_unit_that_no_run_has_written_is_named_and_the_other_is_read(kind, two, capsys):
    folder, path, _ = two
    change, words = WRONG[kind]
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert main(["parity", "--collect", str(folder.folder)]) == 1
    said = capsys.readouterr()
    assert f"REFUSED units/{path.name}: {words}" in said.out and said.err == ""
    assert "1 of 2 units read: 1 cell over 1 seed, 0 failed" in said.out


NO_JSON = {
    "nested": ("[" * 100_000, "it is nested too deeply"),
    "a list": ("[]", "must be an object, got []"),
    "digits": ("9" * 5000, "Exceeds the limit"),
    "bytes": (b"{\xff}", "decode"),
    "null": ("null", "must be an object, got null"),
}


@pytest.mark.parametrize("kind", NO_JSON)
@pytest.mark.parametrize("part", ["units", "planned"])
def test_a_file_that_is_no_record_at_all_is_named(kind, part, two):
    folder, unit, planned = two
    content, words = NO_JSON[kind]
    unit.unlink()
    (unit if part == "units" else planned).write_bytes(content if isinstance(content, bytes) else content.encode())
    findings = collected(folder)
    (refused,) = findings.refused
    assert refused.startswith(f"{part}/{unit.name}: ") and words in refused
    assert findings.read == 1 and not findings.holds


def test_what_is_no_file_is_named_and_not_waited_for(two):
    """Whoever opens a named pipe waits for somebody to write into it."""
    folder, unit, planned = two
    unit.unlink()
    os.mkfifo(unit)
    planned.with_name("folder.json").mkdir()
    assert sorted(collected(folder).refused) == sorted(
        [
            f"units/{unit.name} cannot be read: it must be a regular file, but it is a named pipe",
            "planned/folder.json cannot be read: Is a directory",
        ]
    )


def test_a_version_is_shown_as_it_stands_in_the_file(folder, units, capsys):
    """Neither as markup, which nothing closes here, nor as what moves a cursor."""
    folder.plan(units(1)[0])
    folder.write(units(1)[0], made_up(0, version="[/] \x1b[2J1"), 1)
    assert main(["parity", "--collect", str(folder.folder)]) == 0
    assert "numpy [/] \\x1b[2J1" in capsys.readouterr().out
