"""Columns that answer to the bit as the reference: a second implementation rounds otherwise, in float64 too."""

from __future__ import annotations

from collections.abc import Iterable

from .cells import Result
from .ladder import LADDER
from .outcome import is_own

FEWEST = 10  # cells: of fewer, all may be zero by chance
SHARE = 0.5  # of the whole matrix PyTorch, TensorFlow, Paddle, MXNet and JAX have a sixth, in sums of few or equal numbers


def sentences(results: Iterable[Result]) -> list[str]:
    """One for each column but NumPy's own, which is the reference's code, that has the same bits in most float64 cells."""
    errors: dict[str, list[float]] = {}
    for result in results:
        measured = result.error is not None and LADDER[result.row].measured != "bits"
        if measured and result.dtype == "float64" and not is_own(result.backend):
            errors.setdefault(result.backend, []).append(result.error or 0.0)
    return [
        f"{backend}: answers equal the reference's to the bit in {own.count(0.0):,} of {len(own):,} cells of float64, "
        f"as they do of NumPy under another name."
        for backend, own in errors.items()
        if len(own) >= FEWEST and own.count(0.0) > SHARE * len(own)
    ]
