"""What frameworks do of their own accord, measured; and the same training in all of them over seeds."""

from __future__ import annotations

from .facts import Fact, Probe
from .survey import behaviours
from .training_runs.comparing import runs
from .training_runs.comparison import Comparison
from .training_runs.job import TrainingJob

__all__ = ["Comparison", "Fact", "Probe", "TrainingJob", "behaviours", "runs"]
