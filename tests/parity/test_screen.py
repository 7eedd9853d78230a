"""What a run shows at its end: in a narrow terminal no less than in a file, and of NumPy alone that it is no proof."""

import io
from functools import partial

import pytest
from rich.console import Console

from transformer_mb.built_in import BUILT_IN
from transformer_mb.cli.commands.parity.screen import show_outcome
from transformer_mb.parity.cells import FAILED, PASSED, Result
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.outcome import Outcome
from transformer_mb.parity.report import table
from transformer_mb.parity.rows.layers import layer_experiments
from transformer_mb.registry import load_backend_class


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
    words = text.split()
    assert words.count("1.2e-07") == words.count("failed)") == 2 * len(BUILT_IN)
    assert words.count("gradients") == words.count("float64") + words.count("bfloat16") == 2 and {*BUILT_IN} <= {*words}


@pytest.mark.parametrize(("labels", "alone"), [(["numpy"], True), (["numpy", "numpy@old"], True), (["numpy", "torch"], False)])
def test_numpy_alone_is_called_no_proof(labels, alone, capsys):
    show_outcome(Outcome(results=results(PASSED, *labels)), labels, False, 7)
    shown = capsys.readouterr().out
    assert ("NumPy was held to itself alone: no proof" in shown) == alone
    assert ("Of these, 2 cells test NumPy, whose code is also the reference's." in shown) != alone
    assert "; seed 7; " in shown


def test_a_backend_that_is_numpy_under_another_name_is_called_so(capsys):
    """Said, not failed; a backend whose code is its own is not, nor is NumPy itself."""
    found = []
    for experiment in layer_experiments("float64", 0)[:16]:
        for label, name in (("numpy", "numpy"), ("own", "numpy"), ("torch", "torch")):
            found += experiment.run(label, partial(compute, load_backend_class(name)(dtype="float64")))
    show_outcome(Outcome(results=found), ["numpy", "own", "torch"], False)
    printed = capsys.readouterr().out
    cells = sum(result.backend == "own" for result in found)
    sentence = f"own: answers equal the reference's to the bit in {cells} of {cells} cells of float64"
    assert sentence in printed and printed.count("to the bit") == 1
