"""Ways past the layers that take less time, each held to the layers by ``transformer_mb/conformance/test_shortcuts.py``.

One of them is in the layers themselves, and stands here.
"""

from __future__ import annotations

import paddle
from paddle import Tensor


def swap_axes(X: Tensor) -> Tensor:
    """The two middle axes of four swapped.

    On the CPU Paddle's transpose gives a strided view, whose copy at its next use takes ten times as long as einsum's.
    """
    if 1 in X.shape[1:3]:
        return X.reshape([X.shape[0], X.shape[2], X.shape[1], -1])
    return paddle.einsum("bthd->bhtd", X)
