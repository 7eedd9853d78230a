"""A single thread for small arrays: several only wait for each other."""

from __future__ import annotations

import paddle

LARGE = 2**17  # numbers of a model's largest parameter from which on several threads are worth it


class _Most:
    threads: int | None = None  # how many there may be; None where the user has chosen


def allow(count: int) -> None:
    """Take as many threads, of which Paddle has one by itself, and let ``suit`` choose among them from now on."""
    _Most.threads = count
    paddle.base.core.set_num_threads(count)


def suit(largest: int) -> None:
    """Take as many threads as a model is worth whose largest parameter is of that size."""
    if _Most.threads is not None:
        paddle.base.core.set_num_threads(_Most.threads if largest >= LARGE else 1)
