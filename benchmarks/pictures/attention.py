"""The attention of one sentence and its translation: a heat map per head of each layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from transformer_mb.figures.attention import attention_figure
from transformer_mb.figures.kind import Attention


def draw(line: Mapping[str, Any]) -> Any:
    """Return the figure of a line that ``translate --attention FILE.jsonl`` wrote."""
    layers = [np.array(layer) for layer in line["weights"]]
    return attention_figure([Attention("cross-attention, translation to source", line["target"], line["source"], layers)])
