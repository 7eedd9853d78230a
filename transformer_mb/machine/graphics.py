"""Why a framework lists no GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..backend import Backend

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "JAX_PLATFORMS")


def no_gpu(backend: type[Backend], built: bool) -> str:
    """In words; empty where there is one. ``built``: whether what is installed can compute on GPUs at all."""
    if any(name != "cpu" and not name.startswith("cpu:") for name in backend.devices()):
        return ""
    if not built:
        return f"what is installed, {backend.name} {backend.version()}, is built for processors alone"
    hidden = ", ".join(f"{name}={os.environ[name]}" for name in VISIBLE if name in os.environ)
    return f"{backend.name} {backend.version()} is built for GPUs, but finds none{f' ({hidden})' if hidden else ''}"
