"""Of the limits of a run those are shown that say least."""

from transformer_mb.parity.cells import Cell
from transformer_mb.parity.notable import SHOWN, as_markdown, widest
from transformer_mb.parity.verdict.limits import Baseline, Errors, judge


def measured(row, dtype, limit, case="d2l"):
    return {"row": row, "case": case, "dtype": dtype, "limit_by_norm": limit}


RESULTS = [
    measured("model gradients", "bfloat16", 0.1),
    measured("model gradients", "bfloat16", 0.2, "a | b"),
    measured("layer forward", "bfloat16", 0.05),
    measured("model loss", "bfloat16", 0.01),
    measured("model forward", "bfloat16", 0.02),
    measured("fast loss", "float32", 0.003),
    measured("model loss", "float32", 1e-6),
    measured("model loss", "float64", 1e-11),
    measured("free-running", "float32", None),
    {name: value for name, value in measured("life", "float32", 1.0).items() if name != "limit_by_norm"},
]


def test_the_largest_of_each_row_and_the_largest_rows_of_each_format():
    found = [(name, result["row"], result["limit_by_norm"]) for name, result in widest(RESULTS)]
    of_bfloat16 = [("model gradients", 0.2), ("layer forward", 0.05), ("model forward", 0.02)]
    assert len(of_bfloat16) == SHOWN
    expected = [("bfloat16", *row) for row in of_bfloat16]
    assert found == [*expected, ("float32, fast", "fast loss", 0.003), ("float32", "model loss", 1e-6)]


def test_they_are_a_table():
    assert as_markdown(RESULTS)[4] == "| bfloat16 | 2.0e-01 | model gradients: a \\| b |"


def test_a_run_that_has_not_kept_them_shows_none():
    assert as_markdown(RESULTS[-2:]) == []


def test_the_limit_by_norm_is_kept_whichever_figure_is_told():
    verdict = judge("layer forward", "bfloat16", Errors(0.01, 0.09), Baseline(numpy=Errors(0.02, 0.05)))
    assert "in one element" in verdict.reason and (verdict.limit, verdict.by_norm) == (0.1, 0.04)
    assert verdict.of(Cell("layer forward", "x", "bfloat16"), "torch").limit_by_norm == 0.04
