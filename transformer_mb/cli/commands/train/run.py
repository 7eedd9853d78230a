"""``transformer-mb train``: from a file of sentence pairs to a checkpoint that translates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ....printable import counted, skipped_lines
from ....training_options import DATA, FILES, RUN, TRAINING
from ... import options
from ...counting import Counting
from ...options import ALONE
from .flags import with_flags

if TYPE_CHECKING:
    from ....training.job import PreparedJob


from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....reports.output import tell

if TYPE_CHECKING:
    from ....distributed import Place

NAME = "train"


@with_flags
def command(context: typer.Context, config_file: Path | None = None, **flags: Any) -> None:
    """Train a model on sentence pairs. Flags override CONFIG.toml, which overrides the preset, which overrides defaults."""
    given = {name: value for name, value in flags.items() if value is not None}
    given |= {} if config_file is None else {"config_file": config_file}
    run(given, (context.find_root().obj or {}).get("arguments", ()))


def run(given: dict[str, Any], arguments: Sequence[str]) -> None:
    """Train as the options say; ``arguments`` are the command line, for further processes."""
    from ....errors import ConfigError
    from ....training.configuration_file import configuration_text
    from ....training.settings import read_toml

    if (resume := given.pop("resume", None)) not in (None, ALONE, "auto"):
        raise ConfigError(f"--resume must stand alone or be auto, got {resume!r}.")
    resume = "auto" if resume == "auto" else resume is not None
    force, distributed, shard = (given.pop(name) for name in ("force", "distributed", "shard"))
    settings = _settings(given)
    if "config_file" in given:
        settings = settings.over(read_toml(given["config_file"]))
    if given["print_config"]:
        if resume:
            raise ConfigError("--print-config shows a new training, so that --resume has to be left out.")
        print(configuration_text(settings), end="")
        return
    if not settings.run.get("out"):
        raise ConfigError("A folder for the checkpoint was expected (--out DIR), got none.")
    if not distributed and settings.run.get("processes", 1) > 1:
        started(arguments, settings.run["processes"])
        return
    place = of_several(settings.run.get("processes")) if distributed else None
    with said_by(place):
        prepared(settings, given, resume=resume, force=force, place=place, shard=shard)


def prepared(settings: Any, given: dict[str, Any], *, force: bool, **how: Any) -> None:
    """Look at all files that are named, prepare and train."""
    from ....figures.files import check_figure_path
    from ....files.whole_file import check_apart, check_result_file
    from ....training.job import prepare
    from ....training.own_files import check_own_result

    curve, json_file = given.get("loss_curve"), given.get("json_file")
    others = [settings.run["out"], given.get("config_file"), *data_files(settings.data)]
    may_be_own = force or bool(how["resume"])
    check_figure_path(curve, "--loss-curve", force=may_be_own, never=(*others, json_file))
    check_result_file(json_file, may_be_own, others)
    with Counting() as counting:  # of several processes the first speaks
        progress: dict[str, Any] = {} if how.get("place") and how["place"].rank else {"progress": counting.tell}
        job = prepare(settings, force=force, **how, **progress)
    for path in (curve, json_file):  # a training that is resumed knows its data by itself
        check_apart(path, data_files(job.described))
        if not force:
            check_own_result(path, job.logs.identity)
    carry_out(job, curve, json_file)


def data_files(data: Mapping[str, Any]) -> list[str]:
    """The files that ``[data]`` names."""
    return [data[name] for name in (*FILES, "vocabulary", "target_vocabulary", "tokenizer") if data.get(name)]


def carry_out(job: PreparedJob, loss_curve: Path | None, json_file: Path | None) -> None:
    """Train, and tell what came of it."""
    from ....figures.curves import draw_losses
    from ....reports.output import Output, each_written
    from ....training import Progress, TrainingInterrupted, TrainingState
    from ....training.announced import notes, opening
    from ....training.interruption import ENDINGS
    from ....training.own_files import marked
    from ....training.run import execute
    from ...reporting import say
    from .report import results, told_scores

    def draw(state: TrainingState) -> None:
        draw_losses(loss_curve, [record.loss for record in state.history], job.recipe.normalization, marked(job.logs.identity))

    if job.processes.rank:  # the first of several processes tells, draws and saves
        execute(job, Progress(), ENDINGS)
        return
    say(*job.corpus.lines(), *validation_lines(job), *notes(job), opening(job))
    try:
        trained = execute(job, signals=ENDINGS)
    except TrainingInterrupted as interrupted:
        interrupted.args = (f"{interrupted} Continue with: transformer-mb train --out {job.folder} --resume",)
        with each_written() as attempt:
            state = interrupted.state
            attempt(lambda: draw(state))
            raise
    with each_written() as attempt:
        attempt(lambda: draw(trained.state))
        scores = told_scores(job, trained)
        attempt(lambda: Output(json_file).write(results(job, trained, scores)))


def validation_lines(job: Any) -> list[str]:
    """Describe the pairs that the loss is measured on; no lines where there are none."""
    if job.validation is None:
        return []
    skipped = f" ({skipped_lines(job.validation.skipped)})" if job.validation.skipped else ""
    lines = f"{counted(len(job.validation), 'pair')}{skipped}", *job.validation.bad_lines.notes()
    return [f"validation: {line}" for line in lines]


def _settings(given: dict[str, Any]) -> Any:
    """The flags in the tables of a configuration file."""
    from ....training.settings import MODEL_OPTIONS, Settings

    renamed = {"data": "source"}
    values = {renamed.get(name, name): str(value) if isinstance(value, Path) else value for name, value in given.items()}
    if "fields" in values:
        values["fields"] = values["fields"].split(",")
    values |= {"columns": options.columns_of(values["columns"])} if "columns" in values else {}
    tables = {"model": MODEL_OPTIONS, "training": TRAINING, "data": DATA, "run": RUN}
    return Settings(**{table: {name: values[name] for name in names if name in values} for table, names in tables.items()})


MOST = 1024  # on one machine


def started(arguments: Sequence[str], size: int) -> None:
    """Run the same command as ``size`` processes, each with an environment that says which it is; raises ConfigError."""
    from ....errors import ConfigError
    from ....training.launch import launch

    if size > MOST:
        raise ConfigError(f"processes must be at most {MOST}, got {size}.")
    status, words = launch([*map(str, arguments), "--distributed"], size)
    if words:
        tell(f"Error: {words}")
    if status:
        raise typer.Exit(status)


def of_several(expected: int | None) -> Place:
    """Return this process's place; raises DistributedError, or ConfigError where ``--processes`` says another number."""
    from ....distributed import Place
    from ....errors import ConfigError

    place = Place.from_environment()
    if expected is not None and expected != place.size:
        raise ConfigError(f"processes must be how many are started with --distributed, {place.size}, got {expected}.")
    return place


@contextmanager
def said_by(place: Place | None) -> Iterator[None]:
    """Inside, an error says which of several processes it comes from."""
    try:
        yield
    except Exception as error:
        name = "" if place is None or place.size == 1 else f"rank {place.rank} of {place.size}"
        if name and not isinstance(error, typer.Exit) and name not in str(error).lower():
            error.args = (f"{name}: {error}",)
        raise
