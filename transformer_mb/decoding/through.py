"""The order of a block's parts, for what goes past the layers of a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def through(X: Any, sublayers: Sequence[Callable[[Any], Any] | None], norms: Sequence[Callable[[Any], Any]], pre: bool) -> Any:
    """Add each sublayer's result to its input, and normalize that sum, or with ``pre`` what the sublayer reads.

    Plain arithmetic in a loop of Python's, so that any framework traces or runs it as if it were written out.

    Args:
        X: a tensor [..., D]. sublayers: from such a tensor to another; None where a block has none, whose norm is passed over.
        norms: one for each sublayer. pre: as in AddNorm.
    """
    for sublayer, norm in zip(sublayers, norms, strict=True):
        if sublayer is not None:
            X = X + sublayer(norm(X)) if pre else norm(X + sublayer(X))
    return X
