"""Training that every backend shares: the function ``train``, and beneath it recipes, learning rate schedules and the loop."""

from .corpus import CorpusCounts, SideCounts
from .loop import Job, TrainingInterrupted, train_model
from .progress import Progress
from .recipe import TrainingRecipe
from .records import EpochRecord
from .run import Trained, train
from .schedules import SCHEDULES
from .state import TrainingState

__all__ = [
    "SCHEDULES",
    "CorpusCounts",
    "EpochRecord",
    "Job",
    "Progress",
    "SideCounts",
    "Trained",
    "TrainingInterrupted",
    "TrainingRecipe",
    "TrainingState",
    "train",
    "train_model",
]
