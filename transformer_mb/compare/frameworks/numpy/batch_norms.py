"""NumPy has no batch normalization."""

from __future__ import annotations

ABSENT = dict.fromkeys(("batch_norm", "batch_norm_called", "batch_norm_state"), "NumPy has no layers.")
