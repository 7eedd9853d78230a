"""What a run shows at its end: in a narrow terminal no less than in a file, and of NumPy alone that it is no proof."""

import io

import pytest
from rich.console import Console

from transformer_mb.cli.commands.parity.screen import show
from transformer_mb.parity.cells import FAILED, PASSED, Result
from transformer_mb.parity.outcome import Outcome
from transformer_mb.parity.report import table
from transformer_mb.registry import BUILT_IN


def results(status, *backends):
    return [
        Result("layer gradients", f"layer norm, {name}", dtype, name, status, "off", 1.25e-7, 1e-12)
        for name in backends
        for dtype in ("float64", "bfloat16")
    ]


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_narrow_terminal_shows_every_figure(width):
    shown = io.StringIO()
    Console(file=shown, width=width).print(table(results(FAILED, *BUILT_IN), BUILT_IN))
    text = shown.getvalue()
    assert "…" not in text and all(len(line) <= width for line in text.splitlines())
    columns = [
        "".join(part) for part in zip(*(line.split("│")[1:-1] for line in text.splitlines() if "│" in line), strict=True)
    ]
    assert all(column.replace(" ", "").count("1.2e-07(1of1failed)") == 2 for column in columns[3:])


@pytest.mark.parametrize(("labels", "alone"), [(["numpy"], True), (["numpy", "numpy@old"], True), (["numpy", "torch"], False)])
def test_numpy_alone_is_called_no_proof(labels, alone, capsys):
    show(Outcome(results=results(PASSED, *labels)), labels, False, 7)
    shown = capsys.readouterr().out
    assert ("NumPy was held to itself alone: no proof" in shown) == alone
    assert ("Of these, 2 cells are NumPy's, whose code the reference is too." in shown) != alone
    assert "; seed 7; " in shown
