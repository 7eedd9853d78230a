"""The parity matrix: every backend against a float64 reference, by a verdict that can fail.

``outcome, plan = run_matrix([Column("torch")], Selection(cases="layer *"))`` runs a part of it. Its words:

row         one thing that is compared, such as ``layer gradients``; the ladder has them, from a layer to a training
case        a layer, a model or a training with its inputs: written, or drawn by the seed
cell        a case of a row in one dtype: ``layer gradients: ffn gelu [float32]``
experiment  what is run for one or more cells: requests, each a computation with its settings and arrays
plan        the experiments of a selection, which patterns of cells' ids make
column      a backend in an interpreter, on a host and a device; its worker is the process that computes there
reference   NumPy in float64, here: what every answer is compared with
error       the relative difference of an answer from the reference's; the baseline is what NumPy errs in the cell's dtype
verdict     whether the error is within a limit, which the row or the baseline makes; a result is its verdict on a cell
control     a mistake that is planted into a request or an answer, and that the verdict has to catch
difference  the first sublayer of a failed model that is wrong by itself
outcome     the results, controls and differences of a run
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from ..columns.column import Column
    from .matrix import run_matrix
    from .outcome import Outcome
    from .selection import Selection

_HOMES = {"Column": "..columns.column", "Outcome": ".outcome", "Selection": ".selection", "run_matrix": ".matrix"}
__all__ = ["Column", "Outcome", "Selection", "run_matrix"]

# A worker imports its own side alone.
__getattr__ = lazy_names(__name__, _HOMES)
