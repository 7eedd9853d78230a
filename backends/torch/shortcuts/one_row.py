"""Choice of the library that multiplies one row on a CPU: such a product takes the time in which its weight is read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from transformer_mb.machine.processor import is_of_another_maker

# Numbers of a weight from which on oneDNN multiplies one row in less time than MKL, where Intel is not the processor's maker.
LARGE_WEIGHT = 2**16


def onednn_is_faster(weight: Tensor) -> bool:
    """Tell for float32: MKL reads [8000, 512] with one thread on an EPYC, in 1.5 ms, and oneDNN with two, in 0.6."""
    single = weight.device.type == "cpu" and weight.dtype == torch.float32
    return single and weight.numel() >= LARGE_WEIGHT and weight.is_contiguous() and _onednn_is_the_better_one()


@cache
def _onednn_is_the_better_one() -> bool:
    return is_of_another_maker() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def onednn_is_slower(weight: Tensor) -> bool:
    """Tell for bfloat16, whose weights it first lays out anew: [8000, 512] takes it 0.46 ms, torch's own kernel 0.26."""
    switchable = not torch.backends.flags_frozen()  # as torch.backends.disable_global_flags leaves them
    return weight.device.type == "cpu" and weight.dtype == torch.bfloat16 and switchable


class _Switch:
    """Torch has one for all threads."""

    onednn: Any = torch.backends.mkldnn
    lock = threading.Lock()
    inside = 0
    before = True


@contextmanager
def without_onednn() -> Iterator[None]:
    """Inside, torch multiplies by itself; when the last thread leaves, the switch is as the user had it."""
    with _Switch.lock:
        if not _Switch.inside:
            _Switch.before, _Switch.onednn.enabled = _Switch.onednn.enabled, False
        _Switch.inside += 1
    try:
        yield
    finally:
        with _Switch.lock:
            _Switch.inside -= 1
            if not _Switch.inside:
                _Switch.onednn.enabled = _Switch.before
