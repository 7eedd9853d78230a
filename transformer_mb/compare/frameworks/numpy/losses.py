"""NumPy has no losses."""

from __future__ import annotations

OPERATIONS = (
    "binary_cross_entropy",
    "binary_cross_entropy_probabilities",
    "binary_cross_entropy_gradient",
    "squared_error",
    "huber",
    "kl_divergence",
)
ABSENT = dict.fromkeys(OPERATIONS, "NumPy has no losses.")
