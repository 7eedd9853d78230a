"""Corpora as ids on the disk, mapped into memory: tokenized once, found again by a digest of all they depend on.

A cache is a folder. An entry of it, named by a digest of the files' bytes, the vocabularies and the options of reading, is
written whole or not at all; nothing but SHA-256 is trusted, and a file that changes in any way makes another entry. Entries
can be deleted whenever no training uses them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError, DataError
from ..files.renames import rename_new
from ..files.staging import finish, locked, staged, sync
from ..files.whole_file import write_whole
from .corpus_files import CorpusFiles
from .flat_ids import FlatIds
from .tokenizing import IdsWriter, TokenizedCounts, TokenizedPairs, ids_dtype, write_tokens
from .vocabulary import Vocabulary

VERSION = 1  # of the entries, and of what tokenizing gives: another number finds none of the old ones
COUNTS, SIDES = "counts.json", ("source", "target")
Vocabularies = tuple[Vocabulary, Vocabulary]


class TokenCache:
    """What is cached of one corpus in a folder, which is made."""

    def __init__(self, folder: Path, files: CorpusFiles):
        for path in files.paths:
            if path.exists() and not path.is_file():
                raise ConfigError(f"A cache holds the ids of files that can be read more than once, got {path}.")
        self.folder, self.files = folder, files
        self._files_digest = files.digest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"The cache {folder} must be a folder, but: {error.strerror}.") from None

    def vocabularies(self, rule: Sequence[Any], make: Callable[[], Vocabularies]) -> Vocabularies:
        """Those of words that were counted before by the same ``rule``, else those that are made now."""
        path = self.folder / f"{self._name('vocabularies', *rule)}.json"
        with self._alone():
            with suppress(OSError, ValueError, KeyError, TypeError, DataError):
                source, target = (json.loads(path.read_text(encoding="utf-8"))[side] for side in SIDES)
                first = Vocabulary.from_json(source)
                return first, (first if source == target else Vocabulary.from_json(target))
            made = make()
            write_whole(path, json.dumps({side: one.to_json() for side, one in zip(SIDES, made, strict=True)}))
            return made

    def tokenized(self, vocabularies: Vocabularies, longest: int | None = None) -> TokenizedPairs:
        """The ids, mapped from files; see ``tokenized`` for ``longest``."""
        entry = self.folder / self._name("pairs", *(one.to_json() for one in vocabularies), longest)
        with self._alone():
            if not (found := _read(entry, vocabularies)):
                self._write(entry, vocabularies, longest)
                found = _read(entry, vocabularies)
        if found is None:
            raise DataError(f"The ids in {entry} must be readable as they were written, but they are not.")
        return found

    def _name(self, what: str, *parts: object) -> str:
        key = json.dumps([VERSION, self._files_digest, *map(str, parts)])
        return f"{what}-{hashlib.sha256(key.encode()).hexdigest()}"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time makes what is missing; of several that train together the others find it."""
        with locked(self.folder):
            yield

    def _write(self, entry: Path, vocabularies: Vocabularies, longest: int | None) -> None:
        with staged(self.folder) as stage:
            new = stage / entry.name
            new.mkdir()
            with ExitStack() as stack:
                writers = [
                    IdsWriter(stack.enter_context(ids.open("wb")), stack.enter_context(starts.open("wb")), vocabulary)
                    for (ids, starts), vocabulary in zip((_paths(new, side) for side in SIDES), vocabularies, strict=True)
                ]
                counts = write_tokens(self.files, vocabularies, writers, longest)
            (new / COUNTS).write_text(json.dumps(dataclasses.asdict(counts)), encoding="utf-8")
            finish(new, entry)
            if entry.exists():  # damaged: it goes with the stage
                entry.rename(stage / "damaged")
            with suppress(FileExistsError):  # where folders cannot be locked another process may have been first
                rename_new(new, entry)
            sync(self.folder)


def _paths(entry: Path, side: str) -> tuple[Path, Path]:
    return entry / f"{side}.ids", entry / f"{side}.starts"


def _read(entry: Path, vocabularies: Vocabularies) -> TokenizedPairs | None:
    """An entry; None where there is none, or where its files do not fit together."""
    try:
        fields = json.loads((entry / COUNTS).read_text(encoding="utf-8"))
        counts = TokenizedCounts(**{**fields, "unknown": tuple(fields["unknown"])})
        sources, targets = (
            FlatIds(_mapped(ids, ids_dtype(vocabulary)), _mapped(starts, np.dtype(np.int64)))
            for (ids, starts), vocabulary in zip((_paths(entry, side) for side in SIDES), vocabularies, strict=True)
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None
    pairs = counts.pairs - counts.untokenized - counts.too_long
    whole = all(len(side) == pairs and side.starts[-1] == len(side.ids) for side in (sources, targets))
    return TokenizedPairs(sources, targets, counts) if whole else None


def _mapped(path: Path, dtype: np.dtype[Any]) -> np.ndarray:
    """Read as it is asked for, and not copied; raises ValueError for an empty file."""
    return np.asarray(np.memmap(path, dtype, "r"))
