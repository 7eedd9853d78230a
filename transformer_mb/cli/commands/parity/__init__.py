"""``transformer-mb parity``: one run of the matrix, or with ``--seeds`` one for each seed."""

from .run import NAME, command

__all__ = ["NAME", "command"]
