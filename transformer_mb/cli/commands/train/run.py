"""``transformer-mb train``: from a file of sentence pairs to a checkpoint that translates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ....counted import counted, skipped_lines
from ....presets import PRESETS
from ....training_options import DATA, FILES, MODEL, RUN, RUN_DEFAULTS, TRAINING
from ... import options
from ...counting import Counting
from ...options import ALONE
from .processes import of_several, said_by, started

if TYPE_CHECKING:
    from ....training.job import Job

NAME = "train"


def option(name: str, words: str, default: Any = None, **more: Any) -> Any:
    """An option that says nothing unless it is given, so that the file's or the preset's value stays."""
    known = "" if default is None else f" [default: {default}]"
    # A word that is a value stays as it has to be written: "adam, adamw or sgd".
    first = words[0] if words.startswith(str(default)) else words[0].upper()
    return typer.Option(name, help=f"{first}{words[1:]}.{known}", show_default=False, **more)


def of_recipe(flag: str, **more: Any) -> Any:
    default, words = TRAINING[flag.removeprefix("--").replace("-", "_")]
    return option(flag, words, default, **more)


def path(flag: str, words: str) -> Any:
    return option(flag, words, parser=options.named_path, metavar="PATH")


CONFIG_HELP = "Top-level options, [model], [training], [data] and [decoding], as --print-config writes them."
ConfigFile = Annotated[Path | None, typer.Argument(metavar="CONFIG.toml", help=CONFIG_HELP, show_default=False)]
RESUME = "Continue the checkpoint in --out; what is not given stays as it was. auto: begin where there is none yet."
SHARD = "Each process (torch) or device (JAX) keeps a part of the weights and moments alone (docs/DISTRIBUTED.md)."
DISTRIBUTED = "This is one of several processes, as torchrun, Slurm or Open MPI start them (docs/DISTRIBUTED.md)."
PRESET = f"{RUN['preset']}: {', '.join(PRESETS)}"


def command(
    context: typer.Context,
    config_file: ConfigFile = None,
    data: Annotated[Path | None, path("--data", DATA["source"])] = None,
    target: Annotated[Path | None, path("--target", DATA["target"])] = None,
    fields: Annotated[str | None, option("--fields", "two field names of JSON lines, as source,target")] = None,
    columns: Annotated[str | None, option("--columns", "two column numbers of lines with tabs, as 1,2")] = None,
    bad_lines: Annotated[str | None, option("--bad-lines", DATA["bad_lines"], "stop", metavar="stop|drop")] = None,
    cache: Annotated[Path | None, path("--cache", DATA["cache"])] = None,
    validation: Annotated[Path | None, path("--validation", DATA["validation"])] = None,
    validation_target: Annotated[Path | None, path("--validation-target", DATA["validation_target"])] = None,
    tokenizer: Annotated[Path | None, path("--tokenizer", DATA["tokenizer"])] = None,
    vocabulary: Annotated[Path | None, path("--vocabulary", DATA["vocabulary"])] = None,
    target_vocabulary: Annotated[Path | None, path("--target-vocabulary", DATA["target_vocabulary"])] = None,
    out: Annotated[Path | None, path("--out", RUN["out"])] = None,
    init_from: Annotated[Path | None, path("--init-from", RUN["init_from"])] = None,
    preset: Annotated[str | None, option("--preset", PRESET)] = None,
    num_hiddens: Annotated[int | None, option("--num-hiddens", MODEL["num_hiddens"], 32)] = None,
    ffn_num_hiddens: Annotated[int | None, option("--ffn-num-hiddens", MODEL["ffn_num_hiddens"], 64)] = None,
    num_layers: Annotated[int | None, option("--num-layers", "blocks of each side", 2)] = None,
    num_heads: Annotated[int | None, option("--num-heads", "attention heads of each side", 4)] = None,
    dropout: Annotated[float | None, option("--dropout", MODEL["dropout"], 0.1)] = None,
    epochs: Annotated[int | None, of_recipe("--epochs")] = None,
    max_steps: Annotated[int | None, of_recipe("--max-steps")] = None,
    num_examples: Annotated[int | None, of_recipe("--num-examples")] = None,
    batch_size: Annotated[int | None, of_recipe("--batch-size")] = None,
    batch_tokens: Annotated[int | None, of_recipe("--batch-tokens")] = None,
    accumulate: Annotated[int | None, of_recipe("--accumulate")] = None,
    num_steps: Annotated[int | None, of_recipe("--num-steps")] = None,
    min_freq: Annotated[int | None, of_recipe("--min-freq")] = None,
    pipeline: Annotated[str | None, of_recipe("--pipeline")] = None,
    optimizer: Annotated[str | None, of_recipe("--optimizer")] = None,
    learning_rate: Annotated[float | None, of_recipe("--learning-rate")] = None,
    weight_decay: Annotated[float | None, of_recipe("--weight-decay")] = None,
    schedule: Annotated[str | None, of_recipe("--schedule")] = None,
    warmup_steps: Annotated[int | None, of_recipe("--warmup-steps")] = None,
    schedule_steps: Annotated[int | None, of_recipe("--schedule-steps")] = None,
    plateau_factor: Annotated[float | None, of_recipe("--plateau-factor")] = None,
    plateau_patience: Annotated[int | None, of_recipe("--plateau-patience")] = None,
    clip_norm: Annotated[float | None, of_recipe("--clip-norm")] = None,
    normalization: Annotated[str | None, of_recipe("--normalization")] = None,
    label_smoothing: Annotated[float | None, of_recipe("--label-smoothing")] = None,
    validate_every_steps: Annotated[int | None, of_recipe("--validate-every-steps")] = None,
    validation_metric: Annotated[str | None, of_recipe("--validation-metric")] = None,
    validation_lines: Annotated[int | None, of_recipe("--validation-lines")] = None,
    validation_tokenize: Annotated[str | None, of_recipe("--validation-tokenize")] = None,
    early_stopping: Annotated[int | None, of_recipe("--early-stopping")] = None,
    keep: Annotated[str | None, of_recipe("--keep")] = None,
    keep_best: Annotated[int | None, of_recipe("--keep-best")] = None,
    precision: Annotated[str | None, of_recipe("--precision")] = None,
    compile: Annotated[bool | None, of_recipe("--compile")] = None,
    seed: Annotated[int | None, of_recipe("--seed")] = None,
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: Annotated[str | None, option("--dtype", RUN["dtype"], RUN_DEFAULTS["dtype"])] = None,
    save_every: Annotated[int | None, option("--save-every", RUN["save_every"], RUN_DEFAULTS["save_every"], min=1)] = None,
    save_every_steps: Annotated[int | None, option("--save-every-steps", RUN["save_every_steps"], min=1)] = None,
    processes: Annotated[int | None, option("--processes", RUN["processes"], min=1)] = None,
    distributed: Annotated[bool, typer.Option("--distributed", help=DISTRIBUTED)] = False,
    shard: Annotated[bool, typer.Option("--shard", help=SHARD)] = False,
    log: Annotated[Path | None, path("--log", RUN["log"])] = None,
    tensorboard: Annotated[Path | None, path("--tensorboard", RUN["tensorboard"])] = None,
    loss_curve: Annotated[Path | None, path("--loss-curve", "draw the loss of all epochs here: .png, .svg or .html")] = None,
    json_file: options.JsonFile = None,
    resume: Annotated[str | None, typer.Option("--resume", metavar="[auto]", help=RESUME, show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a checkpoint in --out, and result files.")] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print every option with its value here as CONFIG.toml, and end.")
    ] = False,
) -> None:
    """Train a model on sentence pairs. Flags override CONFIG.toml, which overrides the preset, which overrides defaults."""
    given = {name: value for name, value in locals().items() if value is not None and name != "context"}
    given["arguments"] = (context.find_root().obj or {}).get("arguments", ())
    run(given, "auto" if resume == "auto" else resume is not None, force, print_config)


def run(given: dict[str, Any], resume: bool | Literal["auto"], force: bool, print_config: bool) -> None:
    from ....errors import ConfigError
    from ....training.configuration_file import configuration_text
    from ....training.settings import read_toml

    if given.get("resume") not in (None, ALONE, "auto"):
        raise ConfigError(f"--resume must stand alone or be auto, got {given['resume']!r}.")
    arguments, distributed, shard = given.pop("arguments", ()), given.pop("distributed", False), given.pop("shard", False)
    settings = _flags(given)
    if "config_file" in given:
        settings = settings.over(read_toml(given["config_file"]))
    if print_config:
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
        tell: dict[str, Any] = {} if how.get("place") and how["place"].rank else {"tell": counting.tell}
        job = prepare(settings, force=force, **how, **tell)
    for path in (curve, json_file):  # a training that is resumed knows its data by itself
        check_apart(path, data_files(job.described))
        if not force:
            check_own_result(path, job.logs.identity)
    carry_out(job, curve, json_file)


def data_files(data: Mapping[str, Any]) -> list[str]:
    """The files that ``[data]`` names."""
    return [data[name] for name in (*FILES, "vocabulary", "target_vocabulary", "tokenizer") if data.get(name)]


def carry_out(job: Job, loss_curve: Path | None, json_file: Path | None) -> None:
    """Train, and tell what came of it."""
    from ....figures.curves import draw_losses
    from ....training import Progress, TrainingInterrupted, TrainingState
    from ....training.announced import notes, opening
    from ....training.interruption import ENDINGS
    from ....training.own_files import marked
    from ....training.run import execute
    from ...reporting import each_written, say, write_json
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
        attempt(lambda: write_json(json_file, results(job, trained, scores)))


def validation_lines(job: Any) -> list[str]:
    """What the loss is measured on, if anything."""
    if job.validation is None:
        return []
    from ....data.bad_lines import described

    found = job.validation.bad_lines
    skipped = f" ({skipped_lines(job.validation.skipped)})" if job.validation.skipped else ""
    others = described({**found.counts, "blank": 0}, found.action)
    return [f"validation: {counted(len(job.validation), 'pair')}{skipped}", *(f"validation: {line}" for line in others)]


def _flags(given: dict[str, Any]) -> Any:
    """The flags in the tables of a configuration file."""
    from ....training.settings import MODEL_OPTIONS, RECIPE_FIELDS, Settings

    renamed = {"data": "source"}
    values = {renamed.get(name, name): str(value) if isinstance(value, Path) else value for name, value in given.items()}
    if "fields" in values:
        values["fields"] = values["fields"].split(",")
    values |= {"columns": options.columns_of(values["columns"])} if "columns" in values else {}
    tables = {"model": MODEL_OPTIONS, "training": RECIPE_FIELDS, "data": DATA, "run": RUN}
    return Settings(**{table: {name: values[name] for name in names if name in values} for table, names in tables.items()})
