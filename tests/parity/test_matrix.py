"""The matrix as a whole: what it executes, how it is selected and reported, and that it cannot shrink unseen."""

import ast
import json
import re
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import astuple
from itertools import permutations, product
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN, PLAIN_DTYPES
from transformer_mb.cli.main import main
from transformer_mb.columns.column import Column
from transformer_mb.columns.options import names
from transformer_mb.divergences import Divergence
from transformer_mb.parity import column, matrix
from transformer_mb.parity.cells import Cell
from transformer_mb.parity.controls.requests import CONTROLS
from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Plan, Selection
from transformer_mb.parity.report import counts, figures, markdown, summary
from transformer_mb.parity.rows.tokens import BEAMS
from transformer_mb.parity.selection import matches
from transformer_mb.parity.verdict.limits import CAP_ROUNDED
from transformer_mb.parity.worker import source_digest

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "benchmarks" / "results" / "parity_cpu.json"


@pytest.fixture(scope="module")
def committed():
    return json.loads(MEASURED.read_text())


@pytest.fixture(scope="module")
def plan(committed):
    return Plan(Selection(seed=committed["settings"]["seed"]), list(BUILT_IN))


def test_the_committed_run_has_every_cell_of_the_plan(plan, committed):
    planned = {(name, cell.id) for name, entry in BUILT_IN.items() for cell in plan.cells(name, entry.dtypes)}
    measured = {(one["backend"], Cell(one["row"], one["case"], one["dtype"]).id) for one in committed["results"]}
    assert planned == measured, f"{MEASURED} must hold the cells of the plan: measure it anew with `make parity parity-results`"
    assert committed["cells"] == len(committed["results"]) == len(planned) >= 2000


def test_the_committed_run_held(committed):
    assert committed["failed"] == 0 and committed["passed"] + committed["expected_failures"] == committed["cells"]
    controls = committed["control_results"]
    assert [(one["control"], one["row"], one["dtype"], one["backend"]) for one in controls if not one["caught"]] == []
    assert committed["controls"]["planted"] == committed["controls"]["caught"] == len(controls) >= 60
    assert set(committed["versions"]) == set(BUILT_IN)


def test_no_limit_of_few_bits_would_let_pass_a_third_of_the_answer(committed):
    """What a run before limits by norm were kept has none of."""
    few = [one for one in committed["results"] if one["dtype"] in ("bfloat16", "float16") or one["row"].startswith("fast")]
    limits = [one.get("limit_by_norm") for one in few]
    assert few and all(limit <= CAP_ROUNDED for limit in limits if limit is not None)


def test_the_committed_run_says_of_which_code_it_is(committed):
    """Another commit's code is no failure: what changes no number need not be measured anew."""
    assert re.fullmatch("[0-9a-f]{64}", committed["code"]) and committed["machine"]
    if committed["code"] != source_digest():
        warnings.warn(f"{MEASURED.name} is of code {committed['code'][:16]}, not of this tree", stacklevel=1)


def test_the_committed_run_noticed_what_is_not_finite_in_every_row(plan, committed):
    controls = [one for one in committed["control_results"] if one["control"].startswith(("NaN in", "infinity in"))]
    caught = {(one["row"], one["dtype"], one["backend"], one["control"].split(" in ")[0]) for one in controls if one["caught"]}
    rows = {(cell.row, cell.dtype, name) for name, entry in BUILT_IN.items() for cell in plan.cells(name, entry.dtypes)}
    assert {row.name for row in LADDER.values()} == {row for row, _, _ in rows}
    with_floats = (row for row in rows if row[0] != "given numbers")  # whose answer is ids alone
    expected = {(*row, number) for row, number in product(with_floats, ("NaN", "infinity"))}
    assert caught == expected, f"{MEASURED} must hold the negative controls: measure it anew with `make parity parity-results`"
    assert all(one["caught"] for one in controls)


def test_the_committed_run_caught_every_mistake_in_every_backend(plan, committed):
    """What ``test_controls`` plants live in two backends was planted into all six, but where a cell is of others alone."""
    cases = {name: [(cell.row, cell.case) for cell in plan.cells(name, PLAIN_DTYPES)] for name in BUILT_IN}

    on_gpus = Plan(plan.selection, list(BUILT_IN), BUILT_IN)
    elsewhere = {
        (cell.row, cell.case) for name in BUILT_IN for cell in on_gpus.cells(name, PLAIN_DTYPES)
    } - {cell for cells in cases.values() for cell in cells}  # fmt: skip

    def takes_part(control, name):
        if control.option or any(control.row == row and matches(control.case, case) for row, case in elsewhere):
            return False
        with_it = [
            one for one in BUILT_IN if any(row == control.row and matches(control.case, case) for row, case in cases[one])
        ]
        return not with_it or name in with_it

    in_float32 = [(cell.row, cell.case) for cell in plan.cells("torch", ("float32",))]

    def has_its_turn(control):
        turns = control.row in BEAMS
        return not turns or any(control.row == row and matches(control.case, case) for row, case in in_float32)

    # Models are in one of the two formats, and searches in float64 or in float32: see plan.BY_TURNS.
    names, formats = ("control", "row", "backend"), ("bfloat16", "float16")
    caught = {
        (*(one[name] for name in names), one["dtype"] in formats) for one in committed["control_results"] if one["caught"]
    }
    expected = {
        (control.name, control.row, name, dtypes is formats)
        for control in CONTROLS
        for name, entry in BUILT_IN.items()
        for dtypes in (("float32",), *((formats,) if control.coarse else ()))
        if {*dtypes} <= {*LADDER[control.row].dtypes} & {*entry.dtypes} and takes_part(control, name)
        if dtypes is formats or has_its_turn(control)
    }
    assert expected <= caught, f"{MEASURED} must hold the negative controls: measure it anew with `make parity parity-results`"


def test_the_pages_show_the_committed_run(committed):
    shown = {"docs/PARITY_FIGURES.md": figures, "docs/PARITY.md": summary, "README.md": counts}
    for page, part in ((page, text(committed)) for page, text in shown.items()):
        assert f"<!-- parity: begin -->\n{part}<!-- parity: end -->\n" in (ROOT / page).read_text(), (
            f"{page} must show it: run `make parity-results`"
        )


@pytest.mark.parametrize("column", ["torch", "jax"])
def test_the_pages_show_the_runs_on_a_gpu(column):
    run = json.loads(MEASURED.with_name(f"parity_NVIDIA_H200_{column}.json").read_text())
    mark = f"parity-gpu-{column}"
    for page, text in (("PARITY_FIGURES.md", markdown), ("PARITY_ON_GPU.md", counts)):
        assert f"<!-- {mark}: begin -->\n{text(run)}<!-- {mark}: end -->\n" in (ROOT / "docs" / page).read_text()


def test_float64_runs_last(plan):
    """JAX' switch for float64 is the whole process's, and gives float32 programs other numbers."""
    order = [experiment.dtype for experiment in plan.experiments]
    assert len(set(order)) > 1 and order.index("float64") == len(order) - order.count("float64")


def test_every_ordered_pair_hands_over(plan):
    pairs = {
        (cell.case, name) for name in BUILT_IN for cell in plan.cells(name, PLAIN_DTYPES) if cell.row.startswith("hand-over")
    }
    assert pairs == {(f"from {origin}", name) for origin, name in permutations(BUILT_IN, 2)}


def test_at_least_twenty_steps_are_sampled(plan):
    assert len([cell for cell in plan.cells("jax", ("float64",)) if cell.row == "stepwise update"]) >= 20


def test_a_matrix_that_executes_less_than_it_planned_does_not_hold(monkeypatch):
    results = column._results
    monkeypatch.setattr(column, "_results", lambda *arguments: list(results(*arguments))[:1])
    outcome, _ = run_matrix([Column("numpy")], Selection(cases="*: ffn relu*", dtypes=PLAIN_DTYPES))
    assert not outcome.failed and outcome.executed < outcome.planned and not outcome.holds


def with_divergence(monkeypatch, case):
    row = Divergence(case, "not yet theirs", "planted by a test", "none")
    greeted = column.Worker._greeting
    monkeypatch.setattr(column.Worker, "_greeting", lambda self: {**greeted(self), "divergences": [astuple(row)]})
    outcome, _ = run_matrix([Column("numpy")], Selection(cases="layer forward: ffn relu*", dtypes=PLAIN_DTYPES))
    return outcome


def test_a_known_divergence_that_has_gone_fails(monkeypatch):
    outcome = with_divergence(monkeypatch, Cell("layer forward", "ffn relu", "float64").id)
    assert not outcome.holds and [result.status for result in outcome.failed] == ["passes though expected to fail"]


def test_a_known_divergence_elsewhere_changes_nothing(monkeypatch):
    assert with_divergence(monkeypatch, "layer forward: nothing [float64]").holds


def test_the_command_writes_what_it_found(tmp_path, capsys):
    files = {kind: tmp_path / kind for kind in ("json", "junit", "report")}
    options = [text for kind, path in files.items() for text in (f"--{kind}", str(path))]
    assert main(["parity", "--backends", "numpy", "--cases", "layer*: ffn relu*", "--dtype", "float64", *options]) == 0
    assert "cells executed: 2 passed, 0 failed" in capsys.readouterr().out
    run = json.loads(files["json"].read_text())
    assert {"cells", "passed", "failed", "expected_failures", "controls", "seconds", "versions", "results"} <= set(run)
    assert run["cells"] == run["passed"] == len(run["results"]) == 2
    suite = ElementTree.parse(files["junit"]).getroot()
    assert suite.get("tests") == "2" and suite.get("failures") == "0" and len(list(suite)) == 2
    assert "| layer forward | float64 |" in (files["report"] / "matrix.md").read_text()


def test_a_failing_run_ends_with_1_and_names_the_cell(tmp_path, capsys, faulty_backends):
    command = ["parity", "--backends", "numpy,nan", "--cases", "layer forward: ffn relu*", "--dtype", "float64"]
    assert main([*command, "--junit", str(tmp_path / "junit")]) == 1
    words = "FAILED nan, layer forward: ffn relu [float64]: output holds 84 of 84 numbers that are not finite, the first at"
    assert words in capsys.readouterr().out
    assert ElementTree.parse(tmp_path / "junit").getroot().get("failures") == "1"


def test_a_named_column_without_cells_fails(capsys, faulty_backends):
    command = ["parity", "--backends", "shrunken,numpy", "--cases", "layer forward: ffn relu*", "--dtype", "float64"]
    assert main(command) == 1
    assert "FAILED shrunken executed no cell: it offers no dtype." in capsys.readouterr().out
    assert main(["parity", "--backends", "numpy,torch", "--cases", "layer forward: ffn relu*", "--dtype", "bfloat16"]) == 1
    assert "FAILED numpy executed no cell: it offers" in capsys.readouterr().out


def test_what_a_built_in_backend_must_offer_is_not_its_own_word(monkeypatch):
    """A worker that greets without a dtype is asked for it all the same."""
    true = column.Worker

    class Shrunken(true):
        def _greeting(self):
            return {**super()._greeting(), "dtypes": []}

    monkeypatch.setattr(column, "Worker", Shrunken)
    outcome, _ = run_matrix([Column("numpy")], Selection(cases="layer forward: ffn relu*"))
    assert {result.dtype for result in outcome.results} == set(PLAIN_DTYPES) and outcome.holds


def test_the_table_of_dtypes_is_that_of_the_backends():
    for name, entry in BUILT_IN.items():
        source = (ROOT / "backends" / name / "backend.py").read_text()
        assert set(ast.literal_eval(re.search(r"^    dtypes = (\(.*\))$", source, re.MULTILINE)[1])) == set(entry.dtypes)


def test_a_run_in_which_no_control_was_planted_fails(monkeypatch):
    monkeypatch.setattr("transformer_mb.parity.controls.requests.make_controls", lambda *_: [])
    monkeypatch.setattr(Plan, "_first_of_each_row", lambda *_: [])
    outcome, _ = run_matrix([Column("numpy")], Selection(cases="layer forward: ffn relu*", controls=True))
    assert not outcome.failed and not outcome.holds and outcome.idle == ["No negative control ran in numpy."]


def test_a_pasted_id_selects_its_cell():
    wanted = Cell("layer forward", "ffn relu", "float64")
    selection = Selection(cases=wanted.id)
    assert selection.takes(wanted) and not selection.takes(wanted._replace(dtype="float32"))
    assert Selection(cases="*ffn relu [float*]").takes(wanted) and Selection(cases=f"x|{wanted.id}").takes(wanted)


def test_whatever_a_backend_says_breaks_no_document(tmp_path, capsys, faulty_backends):
    """Control characters in its errors, a bar, a tag and a line end in its version."""
    files = [text for kind in ("json", "junit", "report") for text in (f"--{kind}", str(tmp_path / kind))]
    command = ["parity", "--backends", "loud,numpy", "--cases", "layer forward: ffn relu*", "--dtype", "float64"]
    assert main([*command, *files]) == 1
    out = capsys.readouterr().out
    assert "\x1b[2J" not in out and "\x00" not in out and "\\x1b[2J \\x00 \\ufffe" in out
    failure = next(ElementTree.parse(tmp_path / "junit").getroot().iter("failure"))
    assert "\\x1b[2J \\x00 \\ufffe" in failure.get("message")
    versions = (tmp_path / "report" / "matrix.md").read_text().splitlines()[-2]
    assert "loud 1.0 \\| &lt;b>\\n on cpu" in versions


def test_what_cannot_be_written_is_refused_before_the_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(matrix, "run_matrix", lambda *arguments, **options: pytest.fail("it ran"))
    for option, wrong in (("--json", tmp_path), ("--junit", tmp_path)):
        assert main(["parity", "--backends", "numpy", option, str(wrong)]) == 2
        assert "Is a directory" in capsys.readouterr().err


WRONG = {
    "backend": (["--backends", "caffe"], "--backends must name some of numpy, torch"),
    "dtype": (["--dtype", "float8"], "--dtype must name some of float64, float32, bfloat16, float16, got 'float8'"),
    "cases": (["--backends", "numpy", "--cases", "nothing"], "No cell was selected"),
    "python": (["--python", "torch"], "--python must be NAME=VALUE, got 'torch'"),
    "data": (["--backends", "numpy", "--data", "missing.tsv"], "missing.tsv"),
}


def test_a_framework_may_be_called_by_another_name():
    """As ``--backend keras`` may; a column's version stays."""
    assert names("--backends", ["keras,PyTorch@old", "torch@old"], list(BUILT_IN), list) == ["tensorflow", "torch@old"]


@pytest.mark.parametrize("option", WRONG)
def test_wrong_options_are_one_paragraph(option, capsys):
    arguments, words = WRONG[option]
    assert main(["parity", *arguments]) == 2
    message = capsys.readouterr().err
    assert words in message and "Traceback" not in message and len(message.strip().splitlines()) == 1
