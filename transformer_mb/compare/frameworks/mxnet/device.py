"""Where MXNet computes: in the current context."""

from __future__ import annotations

import mxnet as mx


def default() -> str:
    return "cpu"


def use(device: str) -> None:
    """For good: the context is never left."""
    kind, _, number = device.partition(":")
    mx.Context(kind, int(number or 0)).__enter__()
