"""A run in parts: what each part has, and what they are together."""

import json
import sys
from pathlib import Path

import pytest

from transformer_mb.built_in import EVERY_DTYPE
from transformer_mb.columns.column import Column
from transformer_mb.errors import ParityError
from transformer_mb.parity.matrix import plan_of, run_matrix
from transformer_mb.parity.report import to_json
from transformer_mb.parity.selection import Selection, part_of

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def plan(part=(1, 1)):
    return plan_of(Selection(controls=True, part=part), [Column("numpy"), Column("torch")])


def content(plan):
    cells = sorted(cell for label in ("numpy", "torch") for cell in plan.cells(label, EVERY_DTYPE))
    return cells, sorted(str(control) for planted in plan.controls.values() for control in planted), len(plan.spoiled)


def test_parts_hold_each_cell_and_each_planted_mistake_once():
    parts, whole = [content(plan((number, 5))) for number in range(1, 6)], content(plan())
    assert sorted(cell for cells, *_ in parts for cell in cells) == whole[0]
    assert len({len(planted) > 0 for _, planted, _ in parts}) == 1
    assert sum(spoiled for *_, spoiled in parts) == whole[2]
    assert sum(len(planted) for _, planted, _ in parts) == len(whole[1])


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "-1/2", "1.0/2", "1/2/3"])
def test_a_part_is_one_of_several(text):
    with pytest.raises(ParityError, match="--part must be K/N"):
        part_of(text)


def ran(part):
    chosen = Selection(("float64",), "optimizer step: sgd*|layer forward: layer norm*", part=part)
    outcome, _ = run_matrix([Column("numpy")], chosen)
    return json.loads(json.dumps(to_json(outcome, {"seed": 0} | ({"part": list(part)} if part != (1, 1) else {}))))


@pytest.fixture(scope="module")
def whole():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from parity_results import whole
    finally:
        sys.path.remove(str(BENCHMARKS))
    return whole


def told(run):
    """All but times, and which array of several was spoiled."""
    results = sorted(json.dumps({**one, "seconds": 0.0}) for one in run["results"])
    planted = sorted((one["control"], one["row"], one["case"], one["caught"]) for one in run["control_results"])
    return (
        results,
        planted,
        {name: run[name] for name in run if name not in ("results", "control_results", "seconds", "closest")},
    )


def test_parts_together_are_the_run(whole):
    assert told(whole([ran((2, 2)), ran((1, 2))])) == told(ran((1, 1)))


def test_parts_of_which_one_is_not_there_are_no_run(whole):
    with pytest.raises(SystemExit, match="All 3 parts must be given, got 2"):
        whole([ran((1, 3)), ran((2, 3))])
    with pytest.raises(SystemExit, match="must be given once, got \\[1, 1\\]"):
        whole([ran((1, 2)), ran((1, 2))])
