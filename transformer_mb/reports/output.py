"""Output files of a command: checked before the work, and each written even where another cannot be."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ITEM
from ..printable import printable

if TYPE_CHECKING:
    from .page import Section


class Output(NamedTuple):
    """``--json``, ``--markdown``, ``--report`` and ``--force``: a result for programs and for people; None is no file.

    ``report`` is a folder, whose ``index.html`` is written.
    """

    json_file: Path | None
    markdown: Path | None = None
    force: bool = False
    report: Path | None = None

    def check(self, *never: Path | str | None) -> None:
        """Find out before any work whether all can be written; raises as ``check_result_file``, where ``never`` is.

        Raises PictureError too, where a report needs what is not installed.
        """
        from ..files.whole_file import check_result_file

        check_result_file(self.json_file, self.force, never)
        check_result_file(self.markdown, self.force, (*never, self.json_file))
        if self.report is not None:
            from .page import require_jinja
            from .page.document import NAME

            check_result_file(self.report / NAME, self.force, (*never, self.json_file, self.markdown))
            require_jinja()

    def write(
        self,
        content: Any,
        page: Callable[[], str] | None = None,
        sections: Callable[[], Sequence[Section]] | None = None,
    ) -> None:
        """Write the content as JSON, the page as Markdown and the sections as a report, each where there is a path for it."""
        from ..files.whole_file import write_whole

        with each_written() as attempt:
            if (json_file := self.json_file) is not None:
                attempt(lambda: write_whole(json_file, json.dumps(content, indent=2) + "\n"))
            if (markdown := self.markdown) is not None and page is not None:
                attempt(lambda: write_whole(markdown, page()))
            if (report := self.report) is not None and sections is not None:
                from .page import write_page

                attempt(lambda: write_page(report, sections()))


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
