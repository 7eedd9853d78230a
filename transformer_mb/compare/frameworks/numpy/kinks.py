"""NumPy has no gradients."""

from __future__ import annotations

OPERATIONS = (
    "relu",
    "leaky_relu",
    "absolute",
    "largest",
    "largest_along",
    "larger",
    "clip",
    "norm",
    "deviation",
    "product",
    "power",
    "logsumexp",
)
ABSENT = dict.fromkeys(OPERATIONS, "NumPy has no gradients.")
