"""Pictures of how far two implementations are apart, and of one weight in the layouts of two frameworks."""

from __future__ import annotations

import html
import math
from collections import Counter
from typing import Any

import numpy as np

from .parity_figures import measured
from .pictures import Grid, Step, picture

DECADES = range(-17, 1)
LEFT, TOP, WIDTH, HEIGHT = 56.0, 18.0, 34.0, 64.0  # of a decade's bar, and of a row of bars
ROWS = {"float64": "layers in float64", "float32": "layers in float32"}


def _counts(dtype: str) -> Counter[int]:
    """Count the cells of layers in each decade of the error, as the committed run has them; exact zeros are left out."""
    cells = [one for one in measured()["results"] if one["dtype"] == dtype and one["row"].startswith("layer ") and one["error"]]
    return Counter(max(math.floor(math.log10(one["error"])), DECADES[0]) for one in cells)


def mistakes() -> dict[str, float]:
    """The errors of what is no rounding, computed here: float32 inside a layer norm, another epsilon, a mask off by one."""
    from transformer_mb.backends import numpy as layers

    X = np.random.default_rng(0).standard_normal((2, 6, 16))

    def error(found: Any, true: Any) -> float:
        return float(np.linalg.norm(found - true) / np.linalg.norm(true))

    def norm(of: np.ndarray, eps: float = 1e-5) -> Any:
        return layers.LayerNorm([16], eps=eps)(of)

    attention = layers.DotProductAttention(0.0)
    lengths = np.array([6, 4])
    return {
        "float32 inside": error(norm(X.astype(np.float32)).astype(np.float64), norm(X)),
        "epsilon 1e-6 for 1e-5": error(norm(X, 1e-6), norm(X)),
        "a mask off by one": error(attention(X, X, X, lengths - 1), attention(X, X, X, lengths)),
    }


def parity() -> str:
    """Bars of the errors that the matrix measured, and marks of three mistakes on the same scale."""
    parts = []
    for number, (dtype, name) in enumerate(ROWS.items()):
        counts, floor = _counts(dtype), TOP + (number + 1) * (HEIGHT + 22)
        parts.append(f'<text class="name" x="{LEFT}" y="{floor - HEIGHT:.1f}" style="text-anchor: start">{name}</text>')
        for place, decade in enumerate(DECADES):
            height = HEIGHT * 0.75 * counts[decade] / max(counts.values())
            box = f'x="{LEFT + place * WIDTH + 2:.1f}" y="{floor - height:.1f}" width="{WIDTH - 4}" height="{height:.1f}"'
            parts.append(f'<rect class="cell plus" {box} fill-opacity="0.8"/>')
        parts.append(f'<path class="arrow" d="M{LEFT} {floor:.1f}h{WIDTH * len(DECADES):.1f}"/>')
    under = TOP + len(ROWS) * (HEIGHT + 22)
    for place, decade in enumerate(DECADES):
        parts.append(f'<text class="shape" x="{LEFT + place * WIDTH + WIDTH / 2:.1f}" y="{under + 15:.1f}">1e{decade}</text>')
    for number, (name, error) in enumerate(mistakes().items()):
        x, y = LEFT + (math.log10(error) - DECADES[0]) * WIDTH, under + 38 + 16 * number
        parts.append(f'<path class="mark" d="M{x:.1f} {TOP + 20:.1f}V{y - 4:.1f}" stroke-dasharray="3 3"/>')
        parts.append(f'<text class="remark" x="{x - 6:.1f}" y="{y:.1f}" style="text-anchor: end">{html.escape(name)}</text>')
    title = (
        "How far layers of six frameworks are from the reference, by the decade of the error: in float64 all lie below 1e-10, "
        "where no mistake is. In float32 an epsilon that is wrong lies among the rounding."
    )
    size = f"{LEFT + WIDTH * len(DECADES) + 20:.0f} {under + 38 + 16 * 3:.0f}"
    return (
        f'<figure class="picture"><svg role="img" aria-label="{title}" viewBox="0 0 {size}" width="{size.split()[0]}">'
        f"{''.join(parts)}</svg><figcaption>{title}</figcaption></figure>"
    )


def names() -> str:
    """Draw one matrix as PyTorch, MXNet and NumPy keep it, and as Keras, Paddle and flax do."""
    weight = np.random.default_rng(0).standard_normal((3, 5))
    row = [
        Grid("encoder. ... .W_q.weight", ("out", "in"), weight, "canonical, PyTorch, MXNet, NumPy"),
        Step("transposed", arrow=True),
        Grid("... W_q.kernel", ("in", "out"), weight.T, "Keras, Paddle's weight, flax"),
    ]
    return picture([row], "One projection from 5 to 3 features: the same numbers under two names and in two layouts.")
