"""What frameworks do of their own accord: measured facts about their built-in layers, optimizers and numbers."""

from __future__ import annotations

from .survey import behaviours
from .facts import Fact, Probe

__all__ = ["Fact", "Probe", "behaviours"]
