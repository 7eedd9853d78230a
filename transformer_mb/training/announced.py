"""Announcements of a job, in words: what it is about to do, and what is to be known of it before."""

from __future__ import annotations

from collections.abc import Iterator

from ..built_in import BUILT_IN
from ..checkpoint import Checkpoint
from ..data.vocabulary import swapped_note
from ..machine.processor import slowed_down
from ..printable import counted
from .begun import begun_otherwise, listed, recipe_of
from .initial_model import initial_notes
from .job import PreparedJob
from .recipe import TrainingRecipe
from .schedules import WITH_END

MOST_UNKNOWN = 0.5  # share of a side's words


def notes(job: PreparedJob) -> list[str]:
    """Describe options without effect, and what else the options do not show."""
    of_initial = "the vocabularies of init_from" if job.initial else ""
    vain = job.recipe.without_effect("a tokenizer" if "tokenizer" in job.described else of_initial)
    notes = [f"note: {name} has no effect with {what}" for name, what in vain.items()]
    if "vocabulary" in job.described and job.recipe.min_freq > 1:
        notes.append("note: min_freq has no effect with a vocabulary")
    for name, side in (("source", job.corpus.source), ("target", job.corpus.target)):
        if side.unknown_share > MOST_UNKNOWN:
            notes.append(
                f"note: {side.unknown_share:.0%} of the {name}'s words are unknown to its vocabulary, so that little can be "
                "learned of them: it must be of this language and this pipeline"
            )
    known, precision = BUILT_IN.get(job.backend.name), job.recipe.precision
    if known and precision in known.on_gpu and job.backend.hardware is None:  # a processor has no such products
        notes.append(f"note: precision {precision} has no effect on {job.backend.device_name}")
    notes += [f"note: {sentence}" for sentence in job.logs.notes]
    if job.backend.hardware is None and (slowed := slowed_down(precision, job.backend.dtype)):
        notes.append(f"note: {slowed}")
    if job.validation_dropped:
        notes.append(f"note: validation pairs longer than batch_tokens: {job.validation_dropped:,} dropped from its loss")
    if job.described["digest"] == job.described.get("validation_digest"):
        notes.append("note: the validation measures the pairs that are trained on, and so says nothing of others")
    if job.validation is not None and (swapped := swapped_note(job.validation, job.vocabularies)):
        notes.append(f"note: validation: {swapped}")
    if job.initial is not None:
        notes += [f"note: {sentence}" for sentence in initial_notes(job.initial, job.recipe, job.described)]
    if not job.is_finished:
        notes += [f"note: {sentence}" for sentence in schedule_notes(job.recipe, job.resume, len(job.batches))]
        if job.compiles:
            notes.append(f"note: {job.backend.name} compiles for each new shape of batch: the first steps take far longer")
    return notes


def opening(job: PreparedJob) -> str:
    """Say what is about to happen."""
    state, recipe = job.state, job.recipe
    if job.resume is None:
        together = f" in {job.processes.size} processes" if job.processes.size > 1 else ""
        together += ", the weights in parts" if job.processes.sharded else ""
        begin = f", from the model of {job.described['init_from']} with a new optimizer" if job.initial else ""
        return f"training {recipe.of_end()} with {job.runs_on}{together}{begin}"
    if recipe.is_over(state.epoch, state.step):
        name, at = ("epoch", state.epoch) if recipe.max_steps is None else ("step", state.step)
        return f"already at {name} {at}: {'epochs' if name == 'epoch' else 'max_steps'} must be more than {at} to go on"
    if job.is_finished:
        return f"stopped early at epoch {state.begun_epochs}: early_stopping must be larger, or 0, to go on"
    changed = begun_otherwise(job.resume, job.recipe, job.described["run"])
    batch = f", batch {state.batch + 1} of {len(job.batches)}," if state.batch else ""
    how = f"which began with {listed(changed)}" if changed else "as it began"
    of = f" of {recipe.epochs}" if recipe.max_steps is None else f", step {state.step + 1:,} of {recipe.max_steps:,}"
    return f"continuing epoch {state.epoch + 1}{of}{batch} with {job.runs_on}, {how}"


def schedule_notes(recipe: TrainingRecipe, resume: Checkpoint | None, batches: int) -> Iterator[str]:
    """Describe a schedule whose end has moved, for a training of ``batches`` batches an epoch."""
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
