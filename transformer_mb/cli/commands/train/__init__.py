"""``transformer-mb train``: the training, what it tells, and several processes that share it."""

from .run import NAME, command

__all__ = ["NAME", "command"]
