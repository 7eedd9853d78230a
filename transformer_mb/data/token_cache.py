"""Corpora as ids on the disk, mapped into memory: tokenized once, found again by a digest of all they depend on.

A cache is a folder. An entry of it, named by a digest of the files' bytes, the vocabularies and the options of reading, is
written whole or not at all; nothing but SHA-256 is trusted: a file that changes in any way makes another entry, one that
changes while it is read makes none, and an entry whose own content has changed is made anew. Entries can be deleted whenever
no training uses them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import ConfigError, DataError
from ..files.locks import LockHeldError, locked
from ..files.regular import open_regular, read_regular_text
from ..files.renames import rename_new
from ..files.staging import finish, staged, sync
from ..files.whole_file import write_whole
from .corpus_files import CorpusFiles
from .padding import FlatIds
from .tokenizing import IdsWriter, TokenizedCounts, TokenizedPairs, ids_dtype, write_tokens
from .vocabulary import Vocabulary

VERSION = 3  # of the entries, and of what tokenizing gives: another number finds none of the old ones
COUNTS, SIDES = "counts.json", ("source", "target")
CONTENT, DIGEST = "content", "sha256"  # of a file of JSON
LONGEST_WAIT = 600.0  # seconds: some millions of lines are tokenized in that time
Vocabularies = tuple[Vocabulary, Vocabulary]


class TokenCache:
    """The cached ids of one corpus in a folder, which is made."""

    def __init__(self, folder: Path, files: CorpusFiles):
        for path in files.paths:
            if path.exists() and not path.is_file():
                raise ConfigError(f"A cache holds the ids of files that can be read more than once, got {path}.")
        self.folder, self.files = folder, files
        self._files_digest = files.digest()
        try:
            folder.mkdir(mode=0o775, parents=True, exist_ok=True)
            mode = folder.stat().st_mode
        except OSError as error:
            raise DataError(f"The cache {folder} must be a folder, but: {error.strerror}.") from None
        if mode & stat.S_IWOTH:
            words = "must be a folder that not everyone may write to, or others could say what is learned"
            raise ConfigError(f"The cache {folder} {words}, got the mode {stat.S_IMODE(mode):04o}: chmod o-w {folder}.")

    def vocabularies(self, rule: Sequence[Any], make: Callable[[], Vocabularies]) -> Vocabularies:
        """Return the words that were counted before by the same ``rule``, else those that are counted now."""
        path = self.folder / f"{self._name('vocabularies', *rule)}.json"
        with self._alone():
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError, DataError):
                source, target = (_content(path)[side] for side in SIDES)
                first = Vocabulary.from_json(source)
                return first, (first if source == target else Vocabulary.from_json(target))
            made = make()
            self.files.check_read(self._files_digest)
            write_whole(path, _with_digest({side: one.to_json() for side, one in zip(SIDES, made, strict=True)}))
            _close_to_others(path)
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
        """Let one process at a time make what is missing; of several that train together the others find it.

        Who has waited too long goes on: an entry that comes twice is the same one.
        """
        with ExitStack() as stack:
            with suppress(LockHeldError):
                stack.enter_context(locked(self.folder, limit=LONGEST_WAIT))
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
            self.files.check_read(self._files_digest)
            described = {"counts": dataclasses.asdict(counts), "files": _digests(new)}
            (new / COUNTS).write_text(_with_digest(described), encoding="utf-8")
            finish(new, entry)
            for path in (new, *new.iterdir()):
                _close_to_others(path)
            if entry.exists():  # damaged: it goes with the stage
                entry.rename(stage / "damaged")
            with suppress(FileExistsError):  # where folders cannot be locked another process may have been first
                rename_new(new, entry)
            sync(self.folder)


def _paths(entry: Path, side: str) -> tuple[Path, Path]:
    return entry / f"{side}.ids", entry / f"{side}.starts"


def _read(entry: Path, vocabularies: Vocabularies) -> TokenizedPairs | None:
    """An entry; None where there is none, or where its files are not those that were written."""
    try:
        if any(path.stat().st_mode & stat.S_IWOTH for path in (entry, *entry.iterdir())):
            return None  # everyone may write to it
        described = _content(entry / COUNTS)
        if described["files"] != _digests(entry):
            return None
        fields = described["counts"]
        counts = TokenizedCounts(**{**fields, "unknown": tuple(fields["unknown"])})
        sources, targets = (
            FlatIds(_mapped(ids, ids_dtype(vocabulary)), _mapped(starts, np.dtype(np.int64)))
            for (ids, starts), vocabulary in zip((_paths(entry, side) for side in SIDES), vocabularies, strict=True)
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    pairs = counts.pairs - counts.untokenized - counts.too_long
    whole = all(len(side) == pairs and side.starts[-1] == len(side.ids) for side in (sources, targets))
    return TokenizedPairs(sources, targets, counts) if whole else None


def _close_to_others(path: Path) -> None:
    """Take the right to write from other users, whatever the umask, or the mode of what was there before."""
    path.chmod(path.stat().st_mode & ~stat.S_IWOTH)


def _digests(entry: Path) -> dict[str, str]:
    """Digest the files of ids by name; raises OSError."""
    found = {}
    for path in (path for side in SIDES for path in _paths(entry, side)):
        with open_regular(path) as file:
            found[path.name] = hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
    return found


def _with_digest(content: Any) -> str:
    return json.dumps({CONTENT: content, DIGEST: _sha256(content)})


def _content(path: Path) -> Any:
    """Read what ``_with_digest`` wrote; raises ValueError, KeyError or TypeError for anything else, and OSError."""
    if path.stat().st_mode & stat.S_IWOTH:
        raise ValueError(f"{path} may be written to by everyone")
    held = json.loads(read_regular_text(path, "vocabulary"))
    if held[DIGEST] != _sha256(held[CONTENT]):
        raise ValueError(f"{path} has changed")
    return held[CONTENT]


def _sha256(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _mapped(path: Path, dtype: np.dtype[Any]) -> np.ndarray:
    """Read as it is asked for, and not copied; raises ValueError for an empty file."""
    return np.asarray(np.memmap(path, dtype, "r"))
