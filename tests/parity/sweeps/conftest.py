"""Units whose runs are made up, so that what surrounds a run is tested in no time."""

from __future__ import annotations

import pytest

from transformer_mb.columns.column import Column
from transformer_mb.parity.cells import PASSED
from transformer_mb.parity.selection import Selection
from transformer_mb.parity.sweeping.folder import SweepFolder
from transformer_mb.parity.sweeping.unit import units_of

NARROW = Selection(("float64",), "layer forward: layer norm*")


def made_up(seed, error=1e-14, version="1.26", host="here", **changes):
    """What a unit's process might answer."""
    cell = {"row": "layer forward", "case": "layer norm", "dtype": "float64", "backend": "numpy", "status": PASSED}
    result = {**cell, "reason": "a reason", "error": error * (1 + seed), "limit": 1e-12, "seconds": 0.1}
    counts = {"cells": 1, "planned": 1, "passed": 1, "failed": 0, "expected_failures": 0, "idle": [], "seconds": 0.1}
    controls = {"controls": {"planted": 0, "caught": 0}, "control_results": []}
    column = {"versions": {"numpy": version}, "devices": {"numpy": "cpu"}}
    return {"host": host, **counts, **controls, **column, "results": [result]} | changes


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path / "sweep")


@pytest.fixture
def units():
    """A function: units of NumPy for so many seeds."""
    return lambda count, *labels, timeout=600.0: units_of(
        NARROW, [Column(label) for label in labels or ("numpy",)], range(count), timeout
    )
