"""What frameworks do of their own accord: measured facts about their built-in layers, optimizers and numbers."""

from __future__ import annotations

from .facts import Fact, Probe
from .survey import behaviours

__all__ = ["Fact", "Probe", "behaviours"]
