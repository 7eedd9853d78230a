"""Where JAX computes: on its default device, which is a GPU where there is one."""

from __future__ import annotations

import jax


def default() -> str:
    first = jax.local_devices()[0]
    return "cpu" if first.platform == "cpu" else f"{first.platform}:{first.id}"


def use(device: str) -> None:
    platform, _, number = device.partition(":")
    found = {one.id: one for one in jax.local_devices(backend=platform)}
    jax.config.update("jax_default_device", found[int(number or 0)])
