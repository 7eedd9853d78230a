"""Output files of a command: checked before the work, and each written even where another cannot be."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ITEM
from ..printable import printable


class Output(NamedTuple):
    """``--json``, ``--markdown`` and ``--force``: the files of a result for programs and for people; None is no file."""

    json_file: Path | None
    markdown: Path | None = None
    force: bool = False

    def check(self, *never: Path | str | None) -> None:
        """Find out before any work whether both can be written; raises as ``check_result_file``, where ``never`` is."""
        from ..files.whole_file import check_result_file

        check_result_file(self.json_file, self.force, never)
        check_result_file(self.markdown, self.force, (*never, self.json_file))

    def write(self, content: Any, page: Callable[[], str] | None = None) -> None:
        """Write the content as JSON and the page as Markdown, each where there is a path for it."""
        from ..files.whole_file import write_whole

        with each_written() as attempt:
            if (json_file := self.json_file) is not None:
                attempt(lambda: write_whole(json_file, json.dumps(content, indent=2) + "\n"))
            if (markdown := self.markdown) is not None and page is not None:
                attempt(lambda: write_whole(markdown, page()))


@contextmanager
def each_written() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Give what calls a function that writes a result: one that cannot be written keeps none of the others back.

    Raises the last error of the system at the end, after those before it were printed; an error of the body comes first.
    """
    errors: list[OSError] = []
    last: OSError | None = None

    def attempt(write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            errors.append(error)

    try:
        yield attempt
        last = errors.pop() if errors else None
    finally:
        for error in errors:
            tell(f"Error: {describe(error)}")
    if last is not None:
        raise last


def describe(error: Exception) -> str:
    """Return an error in words: our own as they are, those of files with the file, and a bug as what it is."""
    from ..errors import TransformerMBError
    from ..machine.out_of_memory import without_memory

    if isinstance(error, TransformerMBError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:  # before the words of memory, which a file's name may hold
        return f"{error.filename or 'The system'}: {error.strerror}."
    if (words := without_memory(error)) is not None:
        return words
    return f"{type(error).__name__}: {error} (unexpected; `transformer-mb --debug ...` shows where)"


def tell(text: str) -> None:
    """Print one paragraph on standard error, and what it lists below it, an item per line."""
    for number, part in enumerate(text.split(ITEM)):
        print(printable(("- " if number else "") + " ".join(part.split())), file=sys.stderr)
