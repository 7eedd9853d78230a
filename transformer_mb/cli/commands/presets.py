"""``transformer-mb presets``: the published variants by name, with their sizes and how their documents train them."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

from ...reports.output import Output
from .. import options

NAME = "presets"
WIDTH = 110  # characters of a line
SIZES = (
    "encoder_num_layers",
    "decoder_num_layers",
    "num_hiddens",
    "ffn_num_hiddens",
    "encoder_num_heads",
    "decoder_num_heads",
    "max_len",
    "dropout",
)


def command(json_file: options.JsonFile = None, force: options.Force = False) -> None:
    """List the published variants that `train --preset` takes: their sizes and their documents' training recipes."""

    output = Output(json_file, force=force)
    output.check()
    listed = [preset_facts(name) for name in names()]
    width = min(WIDTH, get_terminal_size((WIDTH, 0)).columns)
    for one in listed:
        print(fill(f"{one['name']}: {one['document']}", width, subsequent_indent="    "))
        for table in ("model", "training"):
            print(fill(f"[{table}] {_fields(one[table])}", width, initial_indent="  ", subsequent_indent="    "))
    output.write(listed)


def names() -> list[str]:
    from ...presets import PRESETS

    return list(PRESETS)


def preset_facts(name: str) -> dict[str, Any]:
    """A preset with the fields of TransformerConfig that are its sizes, and those of TrainingRecipe that its document sets."""
    from ...presets import PRESETS, RECIPES

    config = PRESETS[name](100, 100).to_dict()
    document = str(PRESETS[name].__doc__).strip().splitlines()[0]
    model = {size: config[size] for size in SIZES}
    return {"name": name, "document": document, "model": model, "training": RECIPES[name]}


def _fields(values: Mapping[str, Any]) -> str:
    """Write fields in a line; None is 0 here, as flags and TOML files say it."""
    return ", ".join(f"{name}={0 if value is None else value}" for name, value in values.items()) or "nothing of its own"
