"""The most that a device can do, measured in the same run: products of matrices, and copied memory."""

from __future__ import annotations

import time

import torch

SIDES, BYTES, TIMES = {"cpu": 2048, "cuda": 8192}, 2**28, 5


def has(device):
    return device == "cpu" or (device.partition(":")[0] == "cuda" and torch.cuda.is_available())


def limits(device="cpu"):
    """GFLOP/s of a large product in float32 (without TF32) and bfloat16, and GB/s read and written by a copy."""
    kind = torch.device(device).type
    found, side = {}, SIDES[kind]
    if kind == "cuda":
        found["device"] = torch.cuda.get_device_name(device)
    for name in ("float32", "bfloat16"):
        A = torch.rand(side, side, device=device).to(getattr(torch, name))
        found[f"{name}_GFLOP_per_s"] = round(2 * side**3 / _fastest(lambda A=A: A @ A, kind) / 1e9, 1)
    source = torch.zeros(BYTES // 4, device=device)
    target = torch.empty_like(source)
    found["memory_GB_per_s"] = round(2 * BYTES / _fastest(lambda: target.copy_(source), kind) / 1e9, 1)
    return found


def _fastest(call, kind):
    wait = torch.cuda.synchronize if kind == "cuda" else lambda: None
    call()
    taken = []
    for _ in range(TIMES):
        wait()
        start = time.perf_counter()
        call()
        wait()
        taken.append(time.perf_counter() - start)
    return min(taken)
