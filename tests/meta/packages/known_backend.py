"""Backends of NumPy's with known divergences: one whose positions are wrong, and says so; one that says so of what is right."""

from transformer_mb.backends.numpy import NumPyBackend
from transformer_mb.divergences import Divergence

CASES = ("test_positions.py::test_the_columns_of_a_layout[halves]", "layer forward: positions from 3, halves [float64]")
ROWS = tuple(Divergence(case, "not yet ours", "its positions are off by one", "https://example.org/1") for case in CASES)


class PositionalEncoding(NumPyBackend.PositionalEncoding):
    """A table that begins one position late, where the halves are apart."""

    def forward(self, X, offset=0):
        return super().forward(X, offset + (self.layout == "halves"))


class KnownBackend(NumPyBackend):
    name = "known"
    divergences = ROWS
    PositionalEncoding = PositionalEncoding


class GoneBackend(NumPyBackend):
    name = "gone"
    divergences = ROWS


BACKEND = KnownBackend
