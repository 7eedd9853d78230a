"""The reason why a framework lists no GPU."""

from __future__ import annotations

import os
from collections.abc import Iterable

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JAX_PLATFORMS")


def no_gpu(framework: str, devices: Iterable[str], built: bool) -> str:
    """Say why there is no GPU; empty where there is one.

    Args:
        framework: its name and version. devices: what it lists. built: whether what is installed can compute on GPUs at all.
    """
    if any(name != "cpu" and not name.startswith("cpu:") for name in devices):
        return ""
    if not built:
        return f"what is installed, {framework}, is built for processors alone"
    hidden = ", ".join(f"{name}={os.environ[name]}" for name in VISIBLE if name in os.environ)
    return f"{framework} is built for GPUs, but finds none{f' ({hidden})' if hidden else ''}"
