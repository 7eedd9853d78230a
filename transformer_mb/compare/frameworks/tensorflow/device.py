"""Where TensorFlow computes: on the first GPU that it sees, and on the CPU where it sees none, or has no kernel for one."""

from __future__ import annotations

import tensorflow as tf


def default() -> str:
    return "gpu:0" if tf.config.list_physical_devices("GPU") else "cpu"


def use(device: str) -> None:
    """Hides all others, which is possible until TensorFlow has computed."""
    kind, _, number = device.partition(":")
    seen = [] if kind == "cpu" else [tf.config.list_physical_devices("GPU")[int(number)]]
    tf.config.set_visible_devices(seen, "GPU")
