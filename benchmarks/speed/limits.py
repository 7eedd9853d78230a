"""What this machine can do at most, measured in the same run: products of matrices, and copied memory."""

from __future__ import annotations

import time

import torch

SIDE, BYTES, TIMES = 2048, 2**28, 5


def limits():
    """GFLOP/s of a large product in float32 and bfloat16, and GB/s read and written by a copy."""
    found = {}
    for name in ("float32", "bfloat16"):
        A = torch.rand(SIDE, SIDE).to(getattr(torch, name))
        found[f"{name}_GFLOP_per_s"] = round(2 * SIDE**3 / _fastest(lambda A=A: A @ A) / 1e9, 1)
    source = torch.zeros(BYTES // 4)
    target = torch.empty_like(source)
    found["memory_GB_per_s"] = round(2 * BYTES / _fastest(lambda: target.copy_(source)) / 1e9, 1)
    return found


def _fastest(call):
    call()
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)
