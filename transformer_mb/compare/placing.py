"""Where a framework computes while it is measured: ``compare/frameworks/NAME/device.py`` puts it there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .measuring import FRAMEWORKS


def place(framework: str, backend: Any, device: str | None) -> str:
    """The device on which the framework computes from now on, by its own default where none is given.

    No backend is made for it: that would turn off what GPUs round by a framework's defaults, and these are asked for.

    Args:
        backend: the framework's class. device: as ``devices`` lists it, or ``cuda`` or ``gpu`` for what the framework calls so.
    Raises: DeviceError where it has no such device.
    """
    own = import_module(f"{FRAMEWORKS}.{framework}.device")
    if device is None:
        return own.default()
    gpus = (device.replace("cuda", "gpu"), device.replace("gpu", "cuda"))
    names = [name for one in (device, *gpus) for name in (one, f"{one}:0") if name in backend.devices()]
    name = backend.check_device(names[0] if names else device, device)
    own.use(name)
    return name
