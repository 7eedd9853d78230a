"""The places that a training's settings name, wherever they come from: a command line, a file, a call, or trainer.json.

What is no path would else be taken for nothing that was said, or end where a file is opened, without the option's name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from typing import Any

from ..errors import ConfigError
from .settings import Settings

OF_DATA = ("source", "target", "validation", "validation_target", "tokenizer", "vocabulary", "target_vocabulary", "cache")
OF_RUN = ("out", "init_from", "log", "tensorboard")
SAID_LATER = ("source", "out")  # an empty one is taken for none, and refused as that
NAMES = ("preset", "backend", "device", "dtype")


def check_kinds(paths: Mapping[str, Any], texts: Mapping[str, Any]) -> None:
    """Refuse what is no path, or no text, of options that are None where nothing was said; raises ConfigError."""
    for given, kind, what in ((paths, str | PathLike, "a path"), (texts, str, "a string")):
        for name, value in given.items():
            if value is not None and not isinstance(value, kind):
                raise ConfigError(f"{name} must be {what}, got {value!r:.80}.")


def check_named_places(settings: Settings) -> None:
    """Refuse paths that no file can have, and empty names; raises ConfigError."""
    for name in NAMES:
        if settings.run.get(name) == "":
            raise ConfigError(f"{name} must be a name, or left out, got ''.")
    for names, table in ((OF_DATA, settings.data), (OF_RUN, settings.run)):
        for name in names:
            if table.get(name) is not None:
                _check_path(name, table[name])


def _check_path(name: str, value: Any) -> None:
    path = os.fspath(value) if isinstance(value, str | PathLike) else value
    if not isinstance(path, str):
        raise ConfigError(f"{name} must be a path, got {value!r:.80}.")
    if not path and name not in SAID_LATER:
        raise ConfigError(f"{name} must be a path, or left out, got ''.")
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ConfigError(f"{name} must be a path of characters that a file's name may have, got {path!r:.80}.")
