"""The report of a finished ``train``: lines for people, and a dictionary for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

LITTLE = 20.0  # perplexity

if TYPE_CHECKING:
    from ....inference.evaluation import Evaluation
    from ....training import Trained
    from ....training.job import PreparedJob


def told_scores(job: PreparedJob, trained: Trained) -> Evaluation | None:
    """Tell what came of a training, and give the scores of its validation, if there are any."""
    from ....reports.output import tell
    from ...reporting import say
    from ..evaluate import score, score_lines

    if job.is_finished:
        return None
    scores = None
    if job.validation is not None:
        decoding = job.decoding
        search = decoding.beam, decoding.length_penalty, decoding.coverage_penalty
        scores = score(decoding.translator(trained.translator), job.validation, *search, job.recipe.validation_tokenize)
    # Of a model that has learned little, translations are short and wrong: that BLEU is 0 then needs no reason.
    lines = score_lines(scores, explain=scores.exact_match > 0.0) if scores else ()
    say(*closing_lines(job, trained), *(f"validation {line}" for line in lines))
    say(f"saved in {job.folder}")
    if hint := little_learned(job, trained):
        tell(hint)
    return scores


def closing_lines(job: PreparedJob, trained: Trained) -> Iterator[str]:
    """The loss, the speed of what was trained now, and what the validation measured."""
    from ....printable import counted
    from ....training.records import decided_by, perplexity

    state, recipe = trained.state, job.recipe
    # Of a mean over steps, or of a smoothed one, exp is no perplexity.
    is_cross_entropy = recipe.normalization == "tokens" and not recipe.label_smoothing
    of_training = f", perplexity {perplexity(state.loss):.2f}" if is_cross_entropy else ""
    by, of_validation = (" by steps", " by tokens") if trained.best and recipe.normalization == "steps" else ("", "")
    yield f"loss{by} {state.loss:.4f}{of_training}, {trained.tokens_per_second:,.1f} tokens/s ({job.runs_on})"
    if state.is_stopped_early(recipe.early_stopping):
        without = counted(recipe.early_stopping or 0, "validation")
        yield f"stopped early at epoch {state.begun_epochs}: {without} without a better one"
    if best := trained.best:
        kept = "which is kept" if recipe.keep == "best" else "while the last model is kept"
        last = trained.validations[-1]
        why = "".join(f", {words}" for words in (decided_by(state.validations, recipe.validation_metric), kept) if words)
        for record in {last.step: last, best.step: best}.values():
            at = f"step {record.step:,}" if recipe.validate_every_steps or recipe.max_steps else f"epoch {record.epoch}"
            first, end = ("best ", why) if record is best else ("", "")
            yield f"{first}{record.in_words(of_validation)}, at {at}{end}"


def little_learned(job: PreparedJob, trained: Trained) -> str:
    """A hint where the model has learned little more than how frequent words are; else empty."""
    from ....printable import counted

    measured, length = _perplexity(job, trained), "epochs" if job.recipe.max_steps is None else "max_steps"
    if measured is None or measured <= LITTLE:
        return ""
    return (
        f"Note: the perplexity of training is {measured:,.0f} after {counted(trained.state.step, 'step')}: translations are "
        f"poor, such as one word again and again, until it has trained longer (--resume with more {length})."
    )


def _perplexity(job: PreparedJob, trained: Trained) -> float | None:
    """Return training's perplexity, where its loss tells: D2L's mean over steps is that over tokens divided by a row's
    steps."""
    from ....training.records import perplexity

    width = 1 if job.recipe.normalization == "tokens" else job.recipe.num_steps
    return None if width is None else perplexity(trained.state.loss * width)


def results(job: PreparedJob, trained: Trained, scores: Evaluation | None) -> dict[str, Any]:
    """Losses are those of the history; ``validation`` holds the scores of the model that is kept.

    Where nothing was left to train, backend, device and dtype are those of the training, and there is no speed.
    """
    from ....training.own_files import marked

    best = trained.best
    return {
        "folder": str(trained.folder),
        "written_by": marked(job.logs.identity),
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


def _where_it_ran(job: PreparedJob) -> dict[str, Any]:
    if job.is_finished and job.resume is not None:
        from ....training.begun import begun_run

        return begun_run(job.resume)
    return {**job.described["run"], "device": job.backend.device_name}
