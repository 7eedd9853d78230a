"""The verdict holds whatever the random numbers are."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN, EVERY_DTYPE, PLAIN_DTYPES
from transformer_mb.columns.column import Column
from transformer_mb.columns.ending import TIMEOUT
from transformer_mb.parity.cells import PASSED, Result
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.notable import closest, sentence
from transformer_mb.parity.outcome import Outcome
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.report import to_json
from transformer_mb.parity.sweeping.folder import SweepFolder
from transformer_mb.parity.sweeping.sweep import found_in, in_turn, run_missing
from transformer_mb.parity.sweeping.unit import units_of

# The rows whose cases each seed draws; trajectories follow the seed too, and take minutes.
DRAWN = "layer *|model *|cached *|optimizer *|trained *|*tokens: *"
OTHERS = "forward *|given numbers: *|hypotheses: *|refused inputs: *|equal parts: *|own dropout: *|first weights: *|life: *"
COMPILED = "fast *|repeated steps: *"
COMPILING = ("tensorflow", "jax")  # every case anew in a new process
ROOT = Path(__file__).parents[2]
FOUND = ROOT / "build" / "parity" / "seeds"
# Cells that fail by the framework: the seed, the backend and how the cell's name begins. On another processor they may pass.
KNOWN = [(17, "torch", "model gradients: drawn model 2: ")]  # GELU of oneDNN, see docs/SWEEPS.md


@pytest.mark.long
def test_another_seed():
    columns = [Column("numpy"), Column("torch")]
    outcome, _ = run_matrix(columns, replace(Selection(PLAIN_DTYPES, DRAWN), seed=12345))
    assert outcome.holds and outcome.executed > 800


@pytest.mark.long
def test_fifty_seeds():
    """Twenty of what is compiled. What was measured is left in a folder, a file per run, and goes on where it was cut."""
    folder, units = SweepFolder(FOUND), []
    every, quick = ([Column(name) for name in BUILT_IN if name not in left_out] for left_out in ((), COMPILING))
    for cases in (DRAWN, f"{OTHERS}|{COMPILED}"):
        units += units_of(Selection(EVERY_DTYPE, cases), every, range(20), TIMEOUT)
    for cases in (DRAWN, OTHERS):
        units += units_of(Selection(EVERY_DTYPE, cases), quick, range(20, 50), TIMEOUT)
    assert run_missing(units, folder, in_turn(None), print) == {}
    findings = found_in(units, folder, {})
    for seed, backend, cell in KNOWN:
        for key, failure in list(findings.failures.items()):
            if (failure.seeds, failure.cells, key[0]) == ({seed}, 1, backend) and failure.first.startswith(cell):
                del findings.failures[key]
    assert findings.holds and findings.read == 100, json.dumps(findings.to_json(), indent=1)


@pytest.mark.parametrize("program", ["seeds", "kernels"])
def test_what_the_page_shows_is_what_was_measured(monkeypatch, program):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    measured = import_module("seeds_results" if program == "seeds" else program)
    page = (ROOT / "docs" / "SWEEPS.md").read_text()
    _, _, rest = page.partition(f"<!-- {program}: begin -->\n")
    assert rest.partition(f"<!-- {program}: end -->\n")[0] == measured.page_part(json.loads(measured.RESULTS.read_text()))


def result(case, share, backend="torch", row="layer forward", dtype="float32"):
    error = None if share is None else share * 1e-6
    return Result(row, case, dtype, backend, PASSED, "a reason", error, None if error is None else 1e-6)


RECORDED = [result("a", 0.1), result("b", 0.7), result("c", None), result("d", float("nan")), result("e", 0.2, "numpy")]


def test_the_closest_of_each_backend_row_and_dtype():
    assert [(one.backend, one.case) for one in closest(RECORDED)] == [("torch", "b"), ("numpy", "e")]
    assert sentence(RECORDED) == "Closest to its limit: torch, layer forward: b [float32], at 0.7 of it: a reason"
    assert sentence(RECORDED[2:4]) == ""
    recorded = to_json(Outcome(RECORDED), {})["closest"]
    assert [(one["case"], pytest.approx(one["share"])) for one in recorded] == [("b", 0.7), ("e", 0.2)]
