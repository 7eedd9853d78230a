"""The canonical checkpoint: a folder that every backend reads and writes."""

from .averaging import average
from .content import Checkpoint
from .files import check_destination, check_nothing_lost, read_config
from .model import fill_folder, load, read_checkpoint, save, write_checkpoint

__all__ = [
    "Checkpoint",
    "average",
    "check_destination",
    "check_nothing_lost",
    "fill_folder",
    "load",
    "read_checkpoint",
    "read_config",
    "save",
    "write_checkpoint",
]
