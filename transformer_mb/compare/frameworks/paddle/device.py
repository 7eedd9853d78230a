"""Where Paddle computes: on the device of the process, which is a GPU where Paddle is built for one."""

from __future__ import annotations

import paddle


def default() -> str:
    return paddle.get_device()


def use(device: str) -> None:
    paddle.set_device(device)
