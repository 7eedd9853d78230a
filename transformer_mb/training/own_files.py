"""Files that a training writes beside its checkpoint, and whether one that lies there is its own.

One command line both begins and continues a training, so that a log, a picture or a result of it may lie there already: these
may be written again. Each of them holds the training's id. A file of anybody else's is never written to unless its user says so
(``force``), and no place that only trainer.json names, which may come from elsewhere, gets anything but what it has already.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import DestinationError
from ..files.whole_file import is_new_file, is_special, is_stream
from .progress import Reading
from .records import ValidationRecord
from .settings import Settings

KEY, LOSS_BY = "training", "loss_by"  # in the first line of a log
EVENTS = "events.out.tfevents."
OLD_EVENTS = re.compile(re.escape(EVENTS) + r"\d{17}\.[0-9a-f]{8}")
PLACE = {"step", "epoch"}
OF_VALIDATION = {name.removeprefix("validation_") for name in ValidationRecord._fields} - PLACE | {"perplexity"}
FIELDS = {*PLACE, *Reading._fields, *(f"validation_{name}" for name in OF_VALIDATION), KEY, LOSS_BY}
LONGEST_LINE = 10_000  # bytes
MARK = "transformer_mb training "
MAY_GROW = ("epochs", "max_steps", "early_stopping")


def id_of(settings: Settings) -> str:
    """Return an id that is the same for the same command line, however long it trains, and another for other trainings."""
    training = {name: value for name, value in settings.training.items() if name not in MAY_GROW}
    place = str(Path(str(settings.run.get("out"))).resolve())
    told = [settings.model, training, settings.data, settings.run.get("preset"), settings.run.get("init_from"), place]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def id_in(trainer: Mapping[str, Any]) -> str | None:
    """Return the id that trainer.json holds; older ones hold none."""
    found = (trainer.get("data") or {}).get("id")
    return found if isinstance(found, str) and re.fullmatch("[0-9a-f]{16}", found) else None


def own_lines(path: Path, identity: str, unmarked: bool = False) -> Iterator[str]:
    """The whole lines of a log of this training; a last one that a kill cut off is left out.

    ``unmarked``: a log without any id may be its own, since the checkpoint has none. Raises DestinationError where the file
    holds anything else.
    """
    for number, line in enumerate(_lines(path)):
        fields = _figures(line)
        if fields is None and not line.endswith(b"\n") and line.startswith(b'{"step"'[: len(line)]):
            return
        if fields is None or (not number and fields.get(KEY, identity if unmarked else None) != identity):
            raise DestinationError(
                f"{path} must be a new file, or the log of this training, got one whose line {number + 1} is none of its own: "
                "nothing of it is overwritten. Name another file, or replace it with --force (force=True)."
            )
        yield line.decode()


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file() or is_stream(path):
        return
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE):
            yield line


def _figures(line: bytes) -> dict[str, Any] | None:
    """Read the figures in a line of a log; None for a line that is none."""
    try:
        fields = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not line.endswith(b"\n") or not isinstance(fields, dict) or not PLACE <= set(fields) <= FIELDS:
        return None
    numbers = [value for name, value in fields.items() if name not in (KEY, LOSS_BY)]
    return fields if all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers) else None


def is_own_log(path: Path, identity: str, unmarked: bool = False) -> bool:
    """Tell whether a log of this training lies there; False where nothing lies."""
    try:
        return path.is_file() and not is_new_file(path) and bool(list(own_lines(path, identity, unmarked)))
    except (DestinationError, OSError):
        return False


def holds_own_events(folder: Path, identity: str, unmarked: bool = False) -> bool:
    """Tell whether this training has written for TensorBoard there."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return any(
        (f".{identity}." in name and name.startswith(EVENTS)) or (unmarked and OLD_EVENTS.fullmatch(name)) for name in names
    )


def check_own_result(path: Path | None, identity: str) -> None:
    """Refuse a result file, a picture for one, that neither is new nor was written by this training. None is no file."""
    if path is None or is_new_file(path) or is_special(path) or is_stream(path):
        return
    if marked(identity).encode() not in path.read_bytes():
        raise DestinationError(
            f"{path} must be a new file, or one that this training wrote, got another: name another one, or replace it with "
            "--force."
        )


def marked(identity: str) -> str:
    """Return the mark that pictures and results hold of it."""
    return f"{MARK}{identity}"
