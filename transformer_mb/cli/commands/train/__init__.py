"""``transformer-mb train``: the training, what it tells, and several processes that share it."""

from .flags import TrainCommand
from .run import NAME, command

__all__ = ["NAME", "TrainCommand", "command"]
