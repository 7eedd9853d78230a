"""What is run, what is run again, and what is not."""

import json
from dataclasses import replace

import pytest

from parity.sweeps.conftest import NARROW, made_up
from transformer_mb.cli.commands.parity.sweep import seeds_of
from transformer_mb.columns.column import Column
from transformer_mb.errors import KilledError, ParityError, WorkerError
from transformer_mb.parity.sweeping.sweep import collected, found_in, run_missing
from transformer_mb.parity.sweeping.unit import units_of


class Engine:
    """Answers as it is told to, seed by seed and attempt by attempt, and counts what it was asked for."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def __call__(self, units):
        for unit in units:
            seed = unit.selection.seed
            self.asked.append(seed)
            given = self.answers.get(f"seed_{seed}", [])
            yield unit, given.pop(0) if given else made_up(seed)


def silent(line):
    pass


def test_the_same_command_runs_only_what_is_missing(folder, units):
    first, second = Engine(), Engine()
    assert run_missing(units(2), folder, first, silent) == {}
    assert run_missing(units(4), folder, second, silent) == {}
    assert (first.asked, second.asked) == ([0, 1], [2, 3])
    findings = collected(folder)
    assert findings.holds and (findings.read, findings.units, findings.cells) == (4, 4, 4)


def spoiled(kind, text):
    if kind == "half of it":
        return text[: len(text) // 2]
    if kind == "nothing":
        return ""
    if kind == "another unit's":
        return text.replace('"seed": 1', '"seed": 2', 1)
    run = json.loads(text)
    del run["results"]
    return json.dumps(run)


@pytest.mark.parametrize("kind", ["half of it", "nothing", "another unit's", "a part less"])
def test_a_file_that_is_not_whole_is_run_again_and_not_read(kind, folder, units):
    run_missing(units(3), folder, Engine(), silent)
    path = folder.folder / "units" / f"{units(3)[1].name}.json"
    whole = path.read_text()
    path.write_text(spoiled(kind, whole))
    (refused,) = collected(folder).refused
    assert refused.startswith(f"units/{path.name}: ")
    again = Engine()
    run_missing(units(3), folder, again, silent)
    assert again.asked == [1] and path.read_text() == whole


def test_what_was_ended_from_outside_is_run_again_after_the_others(folder, units):
    engine = Engine(seed_0=[KilledError("A node went away.")])
    assert run_missing(units(2), folder, engine, silent) == {} and engine.asked == [0, 1, 0]
    assert [folder.result(unit.name)["attempts"] for unit in units(2)] == [2, 1]
    assert collected(folder).retried == 1


def test_retries_come_to_an_end_and_the_sweep_names_the_unit(folder, units):
    engine = Engine(seed_1=[KilledError("A node went away.")] * 9)
    unable = run_missing(units(2), folder, engine, silent)
    assert engine.asked == [0, 1, 1, 1, 1]
    findings = found_in(units(2), folder, unable)
    assert not findings.holds and findings.read == 1
    assert findings.missed == [f"seed 1, {units(2)[1].name}: A node went away. Attempts: 4."]
    assert collected(folder).missed == [f"seed 1, {units(2)[1].name}: it was planned, and has no result"]


def test_what_cannot_be_run_is_not_tried_again(folder, units):
    engine = Engine(seed_0=[WorkerError("It holds another transformer_mb.")])
    assert list(run_missing(units(2), folder, engine, silent).values()) == ["It holds another transformer_mb. Attempts: 1."]
    assert engine.asked == [0, 1]


def test_failed_cells_are_a_result_and_not_tried_again(folder, units):
    failed = made_up(0, passed=0, failed=1)
    failed["results"][0] |= {"status": "failed", "reason": "off"}
    engine = Engine(seed_0=[failed])
    run_missing(units(1), folder, engine, silent)
    run_missing(units(1), folder, engine, silent)
    assert engine.asked == [0] and not collected(folder).holds


def test_a_name_says_all_that_a_result_depends_on(tmp_path, monkeypatch):
    def name(selection=NARROW, timeout=600.0, **column):
        return units_of(selection, [Column("numpy@x", **column)], [0], timeout)[0].name

    data = tmp_path / "pairs.tsv"
    data.write_text("Go.\tVa !\n")
    names = [name(), name(timeout=60.0), name(python="other"), name(device="cpu"), name(replace(NARROW, controls=True))]
    names += [name(replace(NARROW, dtypes=("float32",))), name(replace(NARROW, cases=None)), name(replace(NARROW, data=data))]
    elsewhere = tmp_path / "elsewhere.tsv"
    elsewhere.write_bytes(data.read_bytes())
    assert name(replace(NARROW, data=elsewhere)) == names[-1]
    monkeypatch.setenv("XLA_FLAGS", "--xla_none")
    assert len({*names, name()}) == 9


def test_seeds():
    assert seeds_of("0-3,7, 9 - 10,2") == [0, 1, 2, 3, 7, 9, 10]
    for text in ("", "3-1", "-1", "1,,2", "a"):
        with pytest.raises(ParityError, match="--seeds must be numbers, or ranges such as 0-49"):
            seeds_of(text)
