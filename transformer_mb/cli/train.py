"""``transformer-mb train``: from a file of sentence pairs to a checkpoint that translates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options

NAME = "train"


def option(*names: str, help: str, **more: Any) -> Any:
    """An option that says nothing unless it is given, so that the file's or the preset's value stays."""
    return typer.Option(*names, help=help, show_default=False, **more)


ConfigFile = Annotated[
    Path | None, typer.Argument(metavar="CONFIG.toml", help="[model], [training] and [data].", show_default=False)
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the checkpoint in --out; what is not given stays as it was.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a checkpoint in --out.")]


def command(
    config_file: ConfigFile = None,
    data: Annotated[
        Path | None, option("--data", help="SOURCE TAB TARGET lines, .jsonl, or the source side with --target; .gz too.")
    ] = None,
    target: Annotated[Path | None, option("--target", help="The target side, line by line.")] = None,
    fields: Annotated[str | None, option("--fields", help="Two field names of JSON lines, as source,target.")] = None,
    validation: Annotated[Path | None, option("--validation", help="Pairs to score after training.")] = None,
    validation_target: Annotated[Path | None, option("--validation-target", help="The target side of --validation.")] = None,
    out: Annotated[Path | None, option("--out", help="The checkpoint folder.")] = None,
    preset: Annotated[
        str | None, option("--preset", help="A published architecture with its recipe, such as d2l or vaswani_base.")
    ] = None,
    epochs: Annotated[int | None, option("--epochs", help="Epochs in all.")] = None,
    num_examples: Annotated[int | None, option("--num-examples", help="Read only the first N lines; 0: all.")] = None,
    batch_size: Annotated[int | None, option("--batch-size", help="Sentence pairs in a step.")] = None,
    num_steps: Annotated[
        int | None, option("--num-steps", help="Cut and pad every sentence to N tokens; 0: cut none, pad little.")
    ] = None,
    min_freq: Annotated[int | None, option("--min-freq", help="Rarer tokens are unknown words.")] = None,
    pipeline: Annotated[str | None, option("--pipeline", help="How text becomes tokens: d2l or words.")] = None,
    optimizer: Annotated[str | None, option("--optimizer", help="adam or sgd.")] = None,
    learning_rate: Annotated[float | None, option("--learning-rate", help="The schedule's factor.")] = None,
    schedule: Annotated[str | None, option("--schedule", help="constant, linear, inverse_square_root or vaswani.")] = None,
    warmup_steps: Annotated[int | None, option("--warmup-steps", help="Steps of the schedule's warm-up.")] = None,
    clip_norm: Annotated[
        float | None, option("--clip-norm", help="The largest norm of all gradients together; 0: any.")
    ] = None,
    normalization: Annotated[str | None, option("--normalization", help="steps (D2L) or tokens.")] = None,
    label_smoothing: Annotated[
        float | None, option("--label-smoothing", help="Share of probability for all other tokens.")
    ] = None,
    seed: Annotated[int | None, option("--seed", help="Of initial weights, data order and dropout.")] = None,
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: Annotated[str | None, option("--dtype", help="Of weights and activations; default: float32.")] = None,
    save_every: Annotated[
        int | None, option("--save-every", min=1, help="Epochs between two checkpoints; default: 10.")
    ] = None,
    loss_curve: Annotated[
        Path | None, option("--loss-curve", help="Draw the loss of all epochs here: .png, .svg or .html.")
    ] = None,
    resume: Resume = False,
    force: Force = False,
) -> None:
    """Train a model on sentence pairs. Flags override CONFIG.toml, which overrides the preset."""
    given = {name: value for name, value in locals().items() if value is not None}
    run(given, resume, force)


def run(given: dict[str, Any], resume: bool, force: bool) -> None:
    from ..figures.curves import draw_losses
    from ..figures.files import check_figure_path
    from ..training import TrainingInterrupted, TrainingState
    from .train_job import execute, prepare, read_validation
    from .train_settings import read_toml

    settings = _flags(given)
    if "config_file" in given:
        settings = settings.over(read_toml(given["config_file"]))
    check_figure_path(given.get("loss_curve"), "--loss-curve")
    job = prepare(settings, resume, force)
    validation = read_validation(job.described)

    def draw(state: TrainingState) -> None:
        draw_losses(given.get("loss_curve"), [record.loss for record in state.history], job.recipe.normalization)

    try:
        state, translator = execute(job)
    except TrainingInterrupted as interrupted:
        draw(interrupted.state)
        raise KeyboardInterrupt(f"{interrupted} Continue with: transformer-mb train --out {job.folder} --resume") from None
    place = f"{job.backend.name}, {job.backend.device_name}, {job.backend.dtype}"
    print(f"loss {state.loss:.4f}, {state.tokens_per_second:,.1f} tokens/s ({place})")
    draw(state)
    if validation is not None:
        from .evaluate import described, score

        for line in described(score(translator, validation)):
            print(line)
    print(f"saved in {job.folder}")


def _flags(given: dict[str, Any]) -> Any:
    """The flags in the tables of a configuration file."""
    import dataclasses

    from ..training import TrainingRecipe
    from .train_settings import DATA_FIELDS, RUN_FIELDS, Settings

    renamed = {"data": "source"}
    paths = {renamed.get(name, name): str(value) if isinstance(value, Path) else value for name, value in given.items()}
    if "fields" in paths:
        paths["fields"] = paths["fields"].split(",")
    of_recipe = {item.name for item in dataclasses.fields(TrainingRecipe)}
    tables = {"model": {"preset"}, "training": of_recipe, "data": set(DATA_FIELDS), "run": set(RUN_FIELDS)}
    return Settings(**{table: {name: paths[name] for name in names if name in paths} for table, names in tables.items()})
