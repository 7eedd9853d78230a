"""Sentence pairs that stay in their files: read anew, one at a time, whenever they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader, RawIOBase
from os import fspath
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..printable import counted
from .bad_lines import BadLines
from .lines import Path as PathLike
from .lines import open_file
from .readers import Pair, iterate_pairs

TOLD_EVERY = 100_000  # pairs
GZIP_FACTOR = 4  # how much longer text is than its gzip file, about
BLOCK = 1 << 20  # bytes


class CorpusFiles:
    """(source, target) sentences of files; the arguments are those of ``read_pairs``, and ``progress`` hears how far it is.

    A reading whose bytes are not those of the one before ends with DataError: vocabularies and ids are to be of one text.

    Attributes:
        bad_lines: of the last reading.
    """

    def __init__(
        self,
        path: PathLike,
        target_path: PathLike | None = None,
        *,
        num_examples: int | None = None,
        fields: Sequence[str] | None = None,
        columns: Sequence[int] | None = None,
        bad_lines: str = "stop",
        progress: Callable[[str], None] = lambda text: None,
    ):
        self._names = tuple(fspath(one) for one in (path, target_path) if one is not None)
        self.paths = tuple(map(Path, self._names))  # of an address they keep one slash of two
        self.how: dict[str, Any] = {"num_examples": num_examples, "fields": fields, "columns": columns}
        self.bad_lines, self._progress = BadLines(bad_lines), progress
        self._read: list[bytes] | None = None

    def __iter__(self) -> Iterator[Pair]:
        self.bad_lines = BadLines(self.bad_lines.action)
        read = dict[str, _Hashed]()

        def opened(name: str) -> BufferedReader:
            read[name] = _Hashed(name)
            return BufferedReader(read[name], BLOCK)

        try:
            pairs = iterate_pairs(*self.paths, **self.how, bad_lines=self.bad_lines, opened=opened)
            for number, pair in enumerate(pairs, start=1):
                if number % TOLD_EVERY == 0:
                    self._progress(f"{self.paths[0]}: {counted(number, 'pair')} read")
                yield pair
            before, self._read = self._read, [read[fspath(path)].whole() for path in self.paths]
            if before not in (None, self._read):
                raise self._changed()
        finally:
            for file in read.values():
                file.release()

    @property
    def size(self) -> int:
        """Estimate the bytes of text; 0 of files that are not there, or can be read only once, such as a pipe."""
        return sum(
            max(path.stat().st_size * GZIP_FACTOR, _unpacked(path)) if path.suffix.lower() == ".gz" else path.stat().st_size
            for path in self.paths
            if path.is_file()
        )

    def digest(self) -> str:
        """SHA-256 of the files' bytes and of how they are read: with the same digest come the same pairs.

        Raises DataError.
        """
        found = []
        for path, name in zip(self.paths, self._names, strict=True):
            try:
                with path.open("rb") as file:
                    found.append(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None
        return self._combined(found)

    def check_read(self, digest: str) -> None:
        """Refuse what the last reading gave, if its bytes were not those of the digest; raises DataError."""
        if self._read is None or self._combined(self._read) != digest:
            raise self._changed()

    def _changed(self) -> DataError:
        names = " and ".join(self._names)
        return DataError(f"{names} must stay as it is while it is read, but it has changed meanwhile: start again.")

    def _combined(self, digests: Sequence[bytes]) -> str:
        how = [list(value) if isinstance(value, Sequence) else value for value in self.how.values()]
        found = hashlib.sha256(repr((*how, self.bad_lines.action)).encode())
        for path, digest in zip(self.paths, digests, strict=True):
            found.update(f"{path.name.lower()}\0".encode())
            found.update(digest)
        return found.hexdigest()


class _Hashed(RawIOBase):
    """A file that is hashed as it is read, once from its beginning to its end."""

    def __init__(self, name: str):
        self._file, self._digest = open_file(name), hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._digest.update(memoryview(buffer)[:count])
        return count

    def whole(self) -> bytes:
        """The digest of all bytes, also of bytes that were never read."""
        while block := self._file.read(BLOCK):
            self._digest.update(block)
        return self._digest.digest()

    def release(self) -> None:
        """Close it for good; ``close`` leaves what ``whole`` is to read."""
        self._file.close()


def _unpacked(path: Path) -> int:
    """Return the number of bytes that a gzip file says it unpacks to, modulo 4 GiB."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return int.from_bytes(file.read(4), "little")
