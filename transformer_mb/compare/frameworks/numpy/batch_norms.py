"""NumPy has no batch normalization."""

from __future__ import annotations

ABSENT = dict.fromkeys(("batch_norm", "batch_norm_called", "batch_norm_state", "batch_norm_forward"), "NumPy has no layers.")
