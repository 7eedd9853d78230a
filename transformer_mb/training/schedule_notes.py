"""What a schedule does that the options do not show: with the end that a resume moves, and after its own end."""

from __future__ import annotations

from collections.abc import Iterator

from ..checkpoint import Checkpoint
from ..counted import counted
from .begun import recipe_of
from .recipe import TrainingRecipe
from .schedules import WITH_END


def schedule_notes(recipe: TrainingRecipe, resume: Checkpoint | None, batches: int) -> Iterator[str]:
    """In words, for a training of so many batches an epoch."""
    if recipe.schedule not in WITH_END:
        return
    steps, total = recipe.schedule_steps, recipe.total_steps(batches)
    if resume is not None:
        before = recipe_of(resume)
        began = before.schedule_steps or before.total_steps(batches)
        if before.schedule == recipe.schedule and began != (steps or total):
            yield (
                f"the schedule {recipe.schedule} came to zero at step {began:,} and does so at step {steps or total:,} now, so "
                "that all rates from here on are others, and not those of one training of this length; schedule_steps = "
                f"{began} keeps its end, and said from the beginning it makes both the same"
            )
    if steps is not None and steps < total:
        yield f"the learning rate is zero after step {steps:,} (schedule_steps), though there are {total:,}"
    if recipe.warmup_steps >= (end := steps or total):
        warmup = counted(recipe.warmup_steps, "step")
        yield f"the warm-up of {warmup} does not end before the schedule does, at step {end:,}"
