"""Training that every backend shares: recipes, learning rate schedules and the loop, which saves and resumes."""

from .loop import TrainingInterrupted, train
from .progress import Progress
from .recipe import TrainingRecipe
from .schedules import SCHEDULES
from .state import TrainingState

__all__ = ["SCHEDULES", "Progress", "TrainingInterrupted", "TrainingRecipe", "TrainingState", "train"]
