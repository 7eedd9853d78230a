"""NumPy has no losses."""

from __future__ import annotations

OPERATIONS = (
    "cross_entropy",
    "cross_entropy_called",
    "cross_entropy_ignoring",
    "cross_entropy_smoothed",
    "cross_entropy_half",
    "cross_entropy_bfloat16",
)
ABSENT = dict.fromkeys(OPERATIONS, "NumPy has no losses.")
