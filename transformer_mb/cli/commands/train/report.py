"""What ``train`` tells when it is done: lines for people, and a dictionary for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ....inference.evaluation import Evaluation
    from ....training import Trained
    from ....training.job import Job


def closing_lines(job: Job, trained: Trained) -> Iterator[str]:
    """The loss, the speed of what was trained now, and what the validation measured."""
    from ....training.state import perplexity

    state, recipe = trained.state, job.recipe
    # Of a mean over steps, or of a smoothed one, exp is no perplexity.
    is_cross_entropy = recipe.normalization == "tokens" and not recipe.label_smoothing
    of_training = f", perplexity {perplexity(state.loss):.2f}" if is_cross_entropy else ""
    yield f"loss {state.loss:.4f}{of_training}, {trained.tokens_per_second:,.1f} tokens/s ({job.place})"
    if state.is_stopped_early(recipe.early_stopping):
        yield f"stopped early at epoch {state.begun_epochs}: {recipe.early_stopping} validations without a better one"
    if best := trained.best:
        kept = "which is kept" if recipe.keep == "best" else "while the last model is kept"
        for words, record in (("", trained.validations[-1]), ("best ", best)):
            at = f"epoch {record.epoch}" if recipe.validate_every_steps is None else f"step {record.step:,}"
            yield f"{words}{record.described()}, at {at}{f', {kept}' if words else ''}"


def results(job: Job, trained: Trained, scores: Evaluation | None) -> dict[str, Any]:
    """Losses are those of the history; ``validation`` holds the scores of the model that is kept.

    Where nothing was left to train, backend, device and dtype are those of the training, and there is no speed.
    """
    best = trained.best
    return {
        "folder": str(trained.folder),
        **_where_it_ran(job),
        "epoch": trained.state.epoch,
        "step": trained.state.step,
        "stopped_early": trained.state.is_stopped_early(job.recipe.early_stopping),
        "tokens_per_second": None if job.is_finished else trained.tokens_per_second,
        "best_epoch": None if best is None else best.epoch,
        "best_step": None if best is None else best.step,
        "validations": [{**record._asdict(), "perplexity": record.perplexity} for record in trained.validations],
        "history": [{**record._asdict(), "perplexity": record.perplexity} for record in trained.history],
        "validation": None if scores is None else scores.to_dict(),
        "corpus": trained.corpus.to_dict(),
        "preset": job.described["preset"],
        "training": job.recipe.to_dict(),
        "model": job.config.to_dict(),
    }


def _where_it_ran(job: Job) -> dict[str, Any]:
    if job.is_finished and job.resume is not None:
        from ....training.begun import begun_run

        return begun_run(job.resume)
    return {**job.described["run"], "device": job.backend.device_name}
