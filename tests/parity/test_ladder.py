"""The ladder is whole: what a row needs beside its line in the table is named here when it is missing."""

import pytest

from transformer_mb.built_in import BUILT_IN, EVERY_DTYPE
from transformer_mb.parity.computing.computations import COMPUTATIONS
from transformer_mb.parity.controls.requests import CONTROLS
from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.plan import Plan, Selection
from transformer_mb.parity.verdict.measures import MEASURES

BY_THEMSELVES = ("tokens", "losses", "bits", "parts", "masks", "draws", "hypotheses", "refusals", "first")
each_row = pytest.mark.parametrize("row", LADDER.values(), ids=LADDER)


@pytest.fixture(scope="module")
def plans():
    """Plans of two seeds, between which cases take turns."""
    return [Plan(Selection(controls=True, seed=seed), list(BUILT_IN)) for seed in (0, 1)]


@pytest.fixture(scope="module", params=[0, 1])
def plan(request, plans):
    return plans[request.param]


@each_row
def test_a_row_has_its_computation(row):
    assert row.computation in COMPUTATIONS, f"write {row.computation} in parity/computing/computations.py"
    assert row.measured in {*MEASURES, *BY_THEMSELVES}, f"write {row.measured} in parity/verdict/measures.py"
    assert all(name in LADDER for name in row.made_of)


@each_row
def test_a_row_has_cells(row, plan):
    dtypes = {cell.dtype for cell in plan.cells("torch", EVERY_DTYPE) if cell.row == row.name}
    assert dtypes == set(row.dtypes), f"an experiment of parity/rows must have cells of {row.name} in the dtypes of its line"


@each_row
def test_a_row_has_negative_controls(row, plan):
    """Of its own, or planted into what it is made of and called by its name."""
    own = {control.row for control in CONTROLS}
    named = [control.name for controls in plan.controls.values() for control in controls]
    called = any(row.name in name for name in named) and set(row.made_of) <= own
    assert row.name in own or (row.made_of and called), f"plant a mistake into {row.name} in parity/controls/requests.py"


each_dtype = pytest.mark.parametrize(
    ("row", "dtype"), [(row, dtype) for row in LADDER.values() for dtype in row.dtypes], ids=str
)


@each_dtype
def test_a_row_has_a_mistake_in_each_dtype(row, dtype, plan):
    planted = {(control.row, each.dtype) for each, controls in plan.controls.items() for control in controls}
    assert {(name, dtype) for name in row.made_of or (row.name,)} <= planted


def test_each_mistake_is_planted_by_one_of_two_seeds(plans):
    """In float32; its case is known, or there would be none."""
    planted = {id(control) for plan in plans for controls in plan.controls.values() for control in controls}
    assert [control for control in CONTROLS if id(control) not in planted and "float32" in LADDER[control.row].dtypes] == []


@each_dtype
def test_a_row_has_numbers_planted_that_are_not_finite(row, dtype, plan):
    rows = {(cell.row, cell.dtype) for experiment in plan.spoiled for cell in experiment.cells("")}
    assert (row.name, dtype) in rows


def test_every_cell_is_of_a_row(plan):
    assert {cell.row for cell in plan.cells("torch", EVERY_DTYPE)} == set(LADDER)
