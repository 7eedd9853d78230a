"""Sentence pairs that stay in their files: read anew, one at a time, whenever they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from os import fspath
from pathlib import Path
from typing import Any

from ..errors import DataError
from .bad_lines import BadLines
from .readers import Pair, iterate_pairs
from .readers import Path as PathLike

TOLD_EVERY = 100_000  # pairs
GZIP_FACTOR = 4  # how much longer text is than its gzip file, about


class CorpusFiles:
    """(source, target) sentences of files; the arguments are those of ``read_pairs``, and ``tell`` hears how far a reading is.

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
        bad_lines: str = "stop",
        tell: Callable[[str], None] = lambda text: None,
    ):
        self.paths = tuple(Path(fspath(one)) for one in (path, target_path) if one is not None)
        self.num_examples, self.fields = num_examples, fields
        self.bad_lines, self._tell = BadLines(bad_lines), tell

    def __iter__(self) -> Iterator[Pair]:
        self.bad_lines = BadLines(self.bad_lines.action)
        options: dict[str, Any] = {"num_examples": self.num_examples, "fields": self.fields, "bad_lines": self.bad_lines}
        for number, pair in enumerate(iterate_pairs(*self.paths, **options), start=1):
            if number % TOLD_EVERY == 0:
                self._tell(f"{self.paths[0]}: {number:,} pairs read")
            yield pair

    @property
    def size(self) -> int:
        """About how many bytes of text there are; 0 of files that are not there, or can be read only once, such as a pipe."""
        return sum(
            path.stat().st_size * (GZIP_FACTOR if path.suffix.lower() == ".gz" else 1) for path in self.paths if path.is_file()
        )

    def digest(self) -> str:
        """SHA-256 of the files' bytes and of how they are read: with the same digest come the same pairs.

        Raises DataError.
        """
        found = hashlib.sha256(repr((self.num_examples, self.fields and list(self.fields), self.bad_lines.action)).encode())
        for path in self.paths:
            try:
                with path.open("rb") as file:
                    found.update(f"{path.name.lower()}\0".encode())
                    found.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
        return found.hexdigest()
