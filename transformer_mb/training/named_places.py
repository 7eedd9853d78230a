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


def check_used(asked: Settings, settings: Settings, *, pairs: bool, validation: bool) -> None:
    """Refuse what is said of files where no file is read; raises ConfigError.

    ``pairs`` and ``validation`` were handed over as such. What was ``asked`` now is looked at, with the files that ``settings``
    name in all.
    """
    of_pairs = not pairs and bool(settings.data.get("source"))
    of_validation = not validation and bool(settings.data.get("validation"))
    either = of_pairs or of_validation
    needs = {
        "target": (of_pairs, "data (--data)", "the other side of a file"),
        "validation_target": (of_validation, "validation (--validation)", "the other side of a file"),
        "cache": (of_pairs, "data (--data)", "for the ids of a file"),
        "fields": (either, "data (--data)", "how a file is read"),
        "columns": (either, "data (--data)", "how a file is read"),
        "bad_lines": (either, "data (--data)", "how a file is read"),
    }
    for name, (is_read, of, meaning) in needs.items():
        if asked.data.get(name) and not is_read:
            handed = validation if name == "validation_target" else pairs
            got = "pairs that were handed over" if handed else "none"
            raise ConfigError(f"{name} (--{name.replace('_', '-')}) is {meaning}: {of} must name that file, got {got}.")


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
