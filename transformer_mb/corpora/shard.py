"""A shard: a range of a corpus's lines and all that its translation depends on, translated in a process of its own."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from .. import __version__
from ..checkpoint.files import FILES, OF_TRAINING
from ..columns.environment import settings
from ..columns.messages import Arrays
from ..data.bad_lines import BadLines
from ..decoding.sampling import Sampling
from ..errors import DataError, UnitsError
from ..inference.line_answers import Search
from ..inference.translation import Translator
from ..units.unit import Answer, answered_apart, name_of
from .ranges import Range, lines_in

CHUNK = 4096  # lines that are sorted by length together, as ``translate`` does
GPUS = ("cuda", "gpu")


@dataclass(frozen=True)
class Task:
    """The work on every line of a corpus. ``options``: those of ``Translator.load``; bad_lines: stop or drop."""

    folders: tuple[Path, ...]
    options: Mapping[str, Any]
    search: Search
    bad_lines: str

    @cached_property
    def description(self) -> dict[str, Any]:
        """Describe it as files have it: models by what they hold, wherever they lie."""
        models = [model_digest(folder) for folder in self.folders]
        told = {"model": models, **self.options, **asdict(self.search), "bad_lines": self.bad_lines, "version": __version__}
        return json.loads(json.dumps(told))

    @property
    def on_gpu(self) -> bool:
        return str(self.options["device"] or "").startswith(GPUS)


@dataclass(frozen=True)
class Shard:
    """A unit: one range, of so many lines in ``total`` of one ``corpus``, which is a digest of all ranges and the task."""

    range: Range
    task: Task
    corpus: str
    total: int

    cpus = 1  # as many at a time as a node has of them translate more than one with all of them

    @property
    def label(self) -> str:
        return f"lines {self.range.first:,} to {self.range.first + self.range.lines - 1:,}"

    @property
    def description(self) -> dict[str, Any]:
        """Describe it as its file has it. Where the data lies is left out: two machines may keep it in two places."""
        place = {"first": self.range.first, "lines": self.range.lines, "digest": self.range.digest}
        return {**place, "total": self.total, "corpus": self.corpus, "task": self.task.description}

    @property
    def name(self) -> str:
        return name_of(self.description)

    @property
    def request(self) -> dict[str, Any]:
        options, search = dict(self.task.options), asdict(self.task.search)
        folders = [str(folder.resolve()) for folder in self.task.folders]
        return {**self.description, "range": asdict(self.range), "folders": folders, "options": options, "search": search}


def shards_of(ranges: Sequence[Range], task: Task) -> list[Shard]:
    """Make a shard of each range."""
    content = [(one.first, one.lines, one.digest) for one in ranges], task.description
    corpus = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    total = sum(one.lines for one in ranges)
    return [Shard(one, task, corpus, total) for one in ranges]


def model_digest(folder: Path) -> str:
    """SHA-256 of the files of a checkpoint that a translation depends on."""
    digest = hashlib.sha256()
    for name in sorted(set(FILES) - set(OF_TRAINING)):
        if (path := folder / name).is_file():
            with path.open("rb") as file:
                digest.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\0".encode())
    return digest.hexdigest()


def answered(request: Mapping[str, Any], jobs: int | None) -> Answer:
    """Translate a shard with as many threads as ``jobs``: see ``compute``. None: as many as the framework takes."""
    threads = {name: value for name, value in settings(jobs or 1).items() if jobs and name.endswith("THREADS")}
    first, last = request["first"], request["first"] + request["lines"] - 1
    return answered_apart(f"{__name__}:compute", request, f"lines {first:,} to {last:,}", threads)


def compute(arrays: Arrays, request: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Run as the shard's process: rows of text, and what is told of them.

    Raises UnitsError and DataError where it would translate by another model or other lines than was asked for.
    """
    task, place, start = request["task"], request["range"], time.monotonic()
    if task["version"] != __version__:
        raise UnitsError(f"Every node must hold transformer_mb {task['version']}, but {platform.node()} holds {__version__}.")
    if [model_digest(Path(folder)) for folder in request["folders"]] != task["model"]:
        raise UnitsError(
            f"{', '.join(request['folders'])} must hold the same model on every node, but not on {platform.node()}."
        )
    sample = request["search"]["sample"]
    search = Search(**{**request["search"], "sample": sample and Sampling(**sample)})
    translator = Translator.load(request["folders"], **request["options"])
    long: list[int] = []
    translator.on_long = lambda number, count: long.append(number)
    bad_lines = BadLines(task["bad_lines"])
    lines, rows, number = lines_in(Range(**place), bad_lines), list[str](), place["first"]
    while chunk := [line for _, line in islice(lines, CHUNK)]:
        rows += search.answer(translator, chunk, None, number)[0]
        number += len(chunk)
    if number - place["first"] != place["lines"]:
        raise DataError(f"{place['file']} must have {place['lines']} lines there, got {number - place['first']}.")
    told = {"tokens": translator.generated, "long": len(long), "unended": translator.unended, "host": platform.node()}
    return {}, {**told, "lines": place["lines"], "seconds": time.monotonic() - start, "rows": rows}
