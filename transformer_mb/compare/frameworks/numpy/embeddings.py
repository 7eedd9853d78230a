from __future__ import annotations

NONE = "NumPy has no layers."
ABSENT = {
    "embed": NONE,
    "embed_with_padding": NONE,
    "fresh_padding_row": NONE,
}
