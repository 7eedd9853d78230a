"""NumPy compiles nothing."""

from __future__ import annotations

ABSENT = dict.fromkeys(
    ("through_bfloat16_compiled", "sum_less_first", "logarithm_of_power", "multiply_add", "third", "runs"),
    "NumPy compiles nothing.",
) | {"through_bfloat16": "NumPy has no bfloat16."}
