"""Where a training runs, and where it writes its logs: as asked, then as it began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..backend import Backend
from ..distributed import Place
from ..errors import DestinationError
from ..files.whole_file import check_apart
from ..registry import requested_name
from ..training_options import RUN_DEFAULTS
from .logs import LogPlaces, check_logs
from .own_files import holds_own_events, is_own_log, own_lines


def log_places(
    asked: Mapping[str, Any], begun: Mapping[str, Any], never: Iterable[str | None], *, goes_on: bool, **known: Any
) -> LogPlaces:
    """Find out before any work where logs go, and what is wrong with that.

    Args:
        asked, begun: the options of this call, and those that trainer.json holds: a place that only the latter names must hold
            this training's log already, or nothing is written there.
        goes_on: the training may have begun before, whether or not it has saved anything.
        known: further fields of LogPlaces.
    Raises: DestinationError, ConfigError, OSError.
    """
    never, notes = list(never), []
    places = {name: asked[name] for name in ("log", "tensorboard") if asked.get(name) is not None}
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


def own_cache(asked: Mapping[str, Any], begun: Mapping[str, Any], notes: list[str]) -> str | None:
    """The folder of the token cache: as asked, or the one that trainer.json names, where that holds entries of one."""
    path = asked.get("cache") or begun.get("cache")
    if path is None or asked.get("cache") or any(Path(path).glob(f"pairs-{'[0-9a-f]' * 64}")):
        return path
    notes.append(f"cache {path} does not hold what this training wrote: nothing is written there (--cache names a place)")
    return None


def where(asked: Mapping[str, Any], before: Mapping[str, Any], backend: Backend | None) -> dict[str, Any]:
    """Backend, device and dtype: as asked, then as training began, then as the environment says."""
    if backend is not None:
        return {"backend": backend.name, "device": backend.device_name, "dtype": backend.dtype}
    name = requested_name(asked.get("backend") or before.get("backend"))
    before = before if name == before.get("backend") else {}
    device = asked.get("device") or before.get("device")
    return {"backend": name, "device": device, "dtype": asked.get("dtype") or before.get("dtype") or RUN_DEFAULTS["dtype"]}


def in_names(run: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Where it runs, in names: Python may give objects of the framework's."""
    device = run["device"]
    return {**run, "device": device if isinstance(device, str | None) else backend.device_name, "dtype": backend.dtype}


def own_device(device: Any, place: Place) -> Any:
    """Of several processes on one machine each has a GPU of its own, unless the device has a number."""
    return device if place.size == 1 or str(device) not in ("cuda", "gpu") else f"{device}:{place.local_rank}"
