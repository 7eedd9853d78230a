"""Whether somebody watches or replaces what a layer computes: then no shorter way may go around it."""

from __future__ import annotations

from torch import nn


def is_watched(layer: nn.Module) -> bool:
    own = vars(layer)
    forward = "forward" in own or own["_forward_hooks"] or own["_forward_pre_hooks"]
    return bool(forward or own["_backward_hooks"] or own["_backward_pre_hooks"])
