"""Training by several processes: which one this is, how they speak to one another, and what each of them computes."""

from .place import Place
from .processes import Alone, Processes
from .shares import Share, divisor, share

__all__ = ["Alone", "Place", "Processes", "Share", "divisor", "share"]
