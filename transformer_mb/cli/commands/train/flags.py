"""The options of ``train``, made from the tables of ``training_options``, and what else is there a field of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ....config import TransformerConfig
from ....presets import PRESETS
from ....training_options import DATA, DECODING, KINDS, MODEL, RUN, RUN_DEFAULTS, SIDES, TRAINING
from ... import options
from ...arguments import Command
from ...options import argument, option

# In the order of --help, under headings of their own.
PANELS = {
    "Data": (
        *("data", "target", "fields", "columns", "bad_lines", "num_examples", "cache", "validation", "validation_target"),
        *("tokenizer", "vocabulary", "target_vocabulary", "min_freq", "pipeline"),
    ),
    "Model": ("preset", "num_hiddens", "ffn_num_hiddens", "num_layers", "num_heads", "dropout", "init_from"),
    "Training": (
        *("epochs", "max_steps", "batch_size", "batch_tokens", "accumulate", "num_steps"),
        *("optimizer", "learning_rate", "weight_decay", "schedule", "warmup_steps", "schedule_steps"),
        *("plateau_factor", "plateau_patience", "clip_norm", "normalization", "label_smoothing"),
        *("validate_every_steps", "validation_metric", "validation_lines", "validation_tokenize", "early_stopping"),
        *("precision", "compile", "seed", "backend", "device", "dtype"),
    ),
    "Output": (
        *("out", "resume", "force", "keep", "keep_best", "save_every", "save_every_steps"),
        *("log", "tensorboard", "loss_curve", "json_file", "print_config"),
    ),
    "Processes": ("processes", "distributed", "shard"),
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
# The words of options that say it otherwise than a file's, or that a file has not.
WORDS = {
    "data": DATA["source"],
    "fields": "two field names of JSON lines, as source,target",
    "columns": "two column numbers of lines with tabs, as 1,2",
    "preset": f"{RUN['preset']}: {', '.join(PRESETS)}",
    "loss_curve": "draw the loss of all epochs here: .png, .svg or .html",
}
DEFAULTS = {"bad_lines": "stop", **RUN_DEFAULTS}
PATHS = (
    *("data", "target", "cache", "validation", "validation_target", "tokenizer", "vocabulary", "target_vocabulary"),
    *("out", "init_from", "log", "tensorboard", "loss_curve"),
)
COUNTS = ("save_every", "save_every_steps", "processes")  # from 1
RESUME = "Continue the checkpoint in --out; what is not given stays as it was. auto: begin where there is none yet."
SHARD = "Each process (torch) or device (JAX) keeps a part of the weights and moments alone (docs/DISTRIBUTED.md)."
DISTRIBUTED = "This is one of several processes, as torchrun, Slurm or Open MPI start them (docs/DISTRIBUTED.md)."
CONFIG_HELP = "Top-level options, [model], [training], [data] and [decoding], as --print-config writes them."
# Options that say more than whether they are there, and where.
OTHERS: dict[str, Any] = {
    "backend": options.Backend,
    "device": options.Device,
    "json_file": options.JsonFile,
    "resume": Annotated[str | None, option("--resume", RESUME, metavar="[auto]")],
    "distributed": Annotated[bool, option("--distributed", DISTRIBUTED)],
    "shard": Annotated[bool, option("--shard", SHARD)],
    "force": Annotated[bool, option("--force", "Replace a checkpoint in --out, and result files.")],
    "print_config": Annotated[
        bool, option("--print-config", "Print every option with its value here as CONFIG.toml, and end.")
    ],
}
TABLES: dict[str, Iterable[str]] = {"[model]": MODEL, "[training]": TRAINING, "[decoding]": DECODING}


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``command(context, config_file, **given)`` its options."""
    file = Annotated[Path | None, argument("CONFIG.toml", CONFIG_HELP)]
    first = [
        Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        Parameter("config_file", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=file),
    ]
    flags = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False if _is_bool(name) else None, annotation=_annotation(name))
        for name in PANEL_OF
    ]
    command.__signature__ = Signature([*first, *flags])  # type: ignore[attr-defined]
    return command


def _is_bool(name: str) -> bool:
    return name in OTHERS and OTHERS[name].__origin__ is bool


def _annotation(name: str) -> Any:
    if name in OTHERS:
        return OTHERS[name]
    row = TRAINING.get(name) or SIDES.get(name)
    words = row.words if row else WORDS.get(name) or {**DATA, **MODEL, **RUN}[name]
    default = row.default if row else DEFAULTS.get(name, getattr(TransformerConfig, name, None))
    # A word that is a value stays as it has to be written: "adam, adamw or sgd".
    first = words[0] if words.startswith(str(default)) else words[0].upper()
    known = "" if default is None else f" [default: {default}]"
    more: dict[str, Any] = {"parser": options.named_path, "metavar": "PATH"} if name in PATHS else {}
    more |= {"min": 1} if name in COUNTS else {"metavar": "stop|drop"} if name == "bad_lines" else {}
    kind = Path if name in PATHS else int if name in COUNTS else KINDS.get(name, str)
    # It says nothing unless the user writes it, so that the file's or the preset's value stays.
    flag = typer.Option(f"--{name.replace('_', '-')}", help=f"{first}{words[1:]}.{known}", show_default=False, **more)
    return Annotated[kind | None, flag]


class TrainCommand(Command):
    """Tells where a field is said that has no option, and shows its many options under headings."""

    def panel(self, name: str) -> str:
        return PANEL_OF.get(name, super().panel(name))

    def said_elsewhere(self, name: str) -> str:
        for table, fields in TABLES.items():
            if name in fields:
                words = "--print-config writes such a file"
                return f"{name} is a field of a file: {table} in CONFIG.toml, which is the first argument ({words})."
        return ""
