"""The places that a training's settings name, and where it runs: as requested, then as it began.

They come from a command line, a file, a call, or trainer.json. What is no path would else be taken for nothing that was said,
or end where a file is opened, without the option's name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..backend import Backend
from ..distributed import Place
from ..errors import ConfigError, DestinationError
from ..files.whole_file import check_apart
from ..registry import requested_name
from ..training_options import RUN_DEFAULTS
from .logs import LogPlaces, check_logs
from .own_files import holds_own_events, is_own_log, own_lines
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


def check_used(requested: Settings, settings: Settings, *, pairs: bool, validation: bool) -> None:
    """Refuse what is said of files where no file is read; raises ConfigError.

    Args:
        requested: what is looked at: the settings of this call. settings: all, with those that the training began with.
        pairs, validation: whether these were handed over as such.
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
        if requested.data.get(name) and not is_read:
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


def log_places(
    requested: Mapping[str, Any], begun: Mapping[str, Any], never: Iterable[str | None], *, goes_on: bool, **known: Any
) -> LogPlaces:
    """Find out before any work where logs go, and what is wrong with that.

    Args:
        requested, begun: the options of this call, and those that trainer.json holds: a place that only the latter names must
            hold this training's log already, or nothing is written there.
        goes_on: the training may have begun before, whether or not it has saved anything.
        known: further fields of LogPlaces.
    Raises: DestinationError, ConfigError, OSError.
    """
    never, notes = list(never), []
    places = {name: requested[name] for name in ("log", "tensorboard") if requested.get(name) is not None}
    identity, unmarked = known["identity"], known.get("unmarked", False)
    for name, is_own in (("log", is_own_log), ("tensorboard", holds_own_events)):
        path = begun.get(name)
        if path is None or name in places:
            continue
        try:
            check_apart(Path(path), never)
            own = is_own(Path(path), identity, unmarked)
        except (DestinationError, OSError):
            own = False
        if own:
            places[name] = path
        else:
            notes.append(
                f"{name} {path} does not hold what this training wrote there: nothing is written (--{name} names a place)"
            )
    found = LogPlaces(**places, **known, notes=notes)
    own = found.log is not None and goes_on
    if own and not found.replace:
        list(own_lines(Path(str(found.log)), identity, unmarked))
    check_logs(found.log, found.tensorboard, replace=found.replace or own, never=never)
    return found


def own_cache(requested: Mapping[str, Any], begun: Mapping[str, Any], notes: list[str]) -> str | None:
    """The folder of the token cache: as requested, or the one that trainer.json names, where that holds entries of one."""
    path = requested.get("cache") or begun.get("cache")
    if path is None or requested.get("cache") or any(Path(path).glob(f"pairs-{'[0-9a-f]' * 64}")):
        return path
    notes.append(f"cache {path} does not hold what this training wrote: nothing is written there (--cache names a place)")
    return None


def where(requested: Mapping[str, Any], before: Mapping[str, Any], backend: Backend | None) -> dict[str, Any]:
    """Backend, device and dtype: as requested, then as training began, then as the environment says."""
    if backend is not None:
        return {"backend": backend.name, "device": backend.device_name, "dtype": backend.dtype}
    name = requested_name(requested.get("backend") or before.get("backend"))
    before = before if name == before.get("backend") else {}
    device = requested.get("device") or before.get("device")
    return {"backend": name, "device": device, "dtype": requested.get("dtype") or before.get("dtype") or RUN_DEFAULTS["dtype"]}


def in_names(run: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Return where it runs, in names: Python may give objects of the framework's."""
    device = run["device"]
    return {**run, "device": device if isinstance(device, str | None) else backend.device_name, "dtype": backend.dtype}


def own_device(device: Any, place: Place) -> Any:
    """Give each of several processes on one machine a GPU of its own, unless the device has a number."""
    return device if place.size == 1 or str(device) not in ("cuda", "gpu") else f"{device}:{place.local_rank}"
