"""What frameworks do of their own accord, measured; and the same training in all of them over seeds."""

from __future__ import annotations

from .facts import Fact, Probe
from .survey import behaviours
from .training.comparison import Comparison
from .training.job import TrainingJob
from .training.runs import runs

__all__ = ["Comparison", "Fact", "Probe", "TrainingJob", "behaviours", "runs"]
