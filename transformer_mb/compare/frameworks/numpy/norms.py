from __future__ import annotations

ABSENT = {"layer_norm": "NumPy has no layers."}
