"""Cross-attention as shaded blocks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from ..printable import printable

SHADES = " ░▒▓█"


def shade(weight: float) -> str:
    """A weight from 0 to 1 as one of five steps of grey, which need no color."""
    return SHADES[round(weight * (len(SHADES) - 1))] * 3


def attention_table(source: Sequence[str], target: Sequence[str], weights: np.ndarray) -> Table:
    """A row for each target token, a column for each source token. weights: [T, S]."""
    table = Table(title="Where each word was looked up (last layer, mean of the heads)", show_lines=False, pad_edge=False)
    table.add_column("")
    for token in source:
        table.add_column(Text(printable(token)), justify="center", overflow="fold")
    for token, row in zip(target, weights, strict=True):
        table.add_row(Text(printable(token)), *(Text(shade(weight)) for weight in row))
    steps = (f"{block} {step / (len(SHADES) - 1):.2f}" for step, block in enumerate(SHADES) if step)
    table.caption = f"weight, rounded: blank 0, {', '.join(steps)}"
    return table
