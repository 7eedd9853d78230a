"""Mistral (Jiang et al. 2023) as ``transformers`` saves it: Llama's layers, and a window of keys that slides along.

Read where no window is said, or one as wide as there are positions, which hides nothing; what its class takes where its
config.json says nothing is a window of 4096.
"""

from __future__ import annotations

from typing import Any

from . import llama
from .described_folder import row_of
from .description import Values

WINDOW = "sliding_window"


def modern(values: Values) -> dict[str, Any]:
    """Return Llama's fields, without a window that is as wide as all positions."""
    fields = llama.modern(values)
    window, positions = fields.get(WINDOW), fields.get("max_position_embeddings")
    if isinstance(window, int) and isinstance(positions, int) and window >= positions:
        del fields[WINDOW]
    return fields


def published(values: Values) -> dict[str, Any]:
    """Return written fields with the window that is not there, or the class would take its own."""
    return {**values, WINDOW: None}


FAMILY = llama.described(
    "Mistral",
    "HF Mistral folder",
    required={"rope_scaling": (None,), WINDOW: (None,)},
    absent={"attention_dropout": 0.0, "hidden_act": "silu", WINDOW: 4096},
    nulls=(WINDOW,),
    modern=modern,
    published=published,
)
ROW = row_of(FAMILY)
