"""A measurement of what frameworks do by default.

``behaviours`` asks each framework's own built-ins, and ``versions`` those of several installed versions of one framework.
``effects`` trains with one default swapped for another framework's, and ``runs`` compares whole trainings on all backends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy_names import lazy_names

if TYPE_CHECKING:
    from ..columns.column import Column
    from .facts import Fact, Probe
    from .installed.measuring import Versions, versions
    from .survey import behaviours
    from .training.comparison import Comparison
    from .training.effects import Study, effects
    from .training.job import TrainingJob
    from .training.runs import runs

_HOMES = {
    "Column": "..columns.column",
    "Comparison": ".training.comparison",
    "Fact": ".facts",
    "Probe": ".facts",
    "Study": ".training.effects",
    "TrainingJob": ".training.job",
    "Versions": ".installed.measuring",
    "behaviours": ".survey",
    "effects": ".training.effects",
    "runs": ".training.runs",
    "versions": ".installed.measuring",
}
__all__ = [
    "Column",
    "Comparison",
    "Fact",
    "Probe",
    "Study",
    "TrainingJob",
    "Versions",
    "behaviours",
    "effects",
    "runs",
    "versions",
]

# A worker imports its own side alone.
__getattr__ = lazy_names(__name__, _HOMES)
