"""SOURCE TAB TARGET: the two columns of a file, and whether they can be what they are taken for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..errors import ConfigError, DataError
from .bad_lines import BadLines

FIRST = 100  # lines by which a column is judged
NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)*|[.,]\d+)(e[-+]?\d+)?\s?%?", re.IGNORECASE)
ID = re.compile(r"\S*\d\S*")  # one word with a digit
LONGEST = 100  # characters of a cell that are looked at, and cells of a line
EXCERPT = 60  # characters of a wrong line that a message shows
# What stands over the columns of a file, lower case. Codes that are English words (it, he, no) are left out: a line of two
# of these words is a header, and no translation.
LANGUAGES = (
    *("arabic", "chinese", "czech", "dutch", "english", "finnish", "french", "german", "greek", "hindi", "italian"),
    *("japanese", "korean", "polish", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish", "ukrainian"),
    *("deutsch", "englisch", "franzoesisch", "französisch", "anglais", "français", "inglés", "español", "francés"),
    *("ar", "cs", "de", "el", "en", "es", "fi", "fr", "ja", "ko", "nl", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "zh"),
    *("ces", "deu", "ell", "eng", "fin", "fra", "ger", "ita", "jpn", "kor", "nld", "pol", "por", "rus", "spa", "swe", "zho"),
)
HEADERS = {
    *("source", "src", "target", "tgt", "trg", "sentence", "translation", "input", "output", "text", "reference", "original"),
    *("source_text", "target_text", "src_text", "tgt_text", "sentence1", "sentence2", "source_lang", "target_lang"),
    *LANGUAGES,
}

# What stands in columns beside the sentences: its name, and whether a cell is that. With two columns alone, a column of
# single words may be a list of words to translate, which numbers are too seldom.
NO_SENTENCES: dict[str, Callable[[str], object]] = {
    "numbers": NUMBER.fullmatch,
    "ids": ID.fullmatch,
    "names of languages": lambda cell: cell.lower() in LANGUAGES,
}


class UnusableFile(DataError):
    """A fault of a file as a whole, so that no line of it may be dropped instead."""


def check_columns(columns: Sequence[int] | None) -> tuple[int, int] | None:
    """Return two numbers of columns, from 1; raises ConfigError."""
    if columns is None:
        return None
    numbers = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else [columns]
    whole = all(isinstance(number, int) and not isinstance(number, bool) and number >= 1 for number in numbers)
    if not whole or len(numbers) != 2 or numbers[0] == numbers[1]:
        raise ConfigError(f"columns must be two different numbers from 1 on, source first, got {columns!r:.80}.")
    return numbers[0], numbers[1]


def is_header(pair: tuple[str, str]) -> bool:
    """Tell whether a first line names its columns."""
    first, second = (side.strip().lower() for side in pair)
    return first != second and first in HEADERS and second in HEADERS


def excerpt(text: str) -> str:
    return repr(text if len(text) <= EXCERPT else text[:EXCERPT] + "...")


class Columns:
    """The columns of one file, line by line.

    Args:
        name: the file. chosen: which two of its columns, from 1; None: the first two, if all lines have as many.
    """

    def __init__(self, name: str, chosen: tuple[int, int] | None, bad_lines: BadLines):
        self._name, self._chosen, self._bad_lines = name, chosen, bad_lines
        self._places = [number - 1 for number in chosen or (1, 2)]
        self._widths: set[int] = set()  # of the first line: with the empty columns at its end, and without
        self._fitting = self._other = 0
        self._rows: list[list[str]] = []  # the first lines

    def pair(self, line: str) -> tuple[str, str]:
        """Split a line; raises DataError, which names neither file nor line, and UnusableFile."""
        cells = line.split("\t")
        if len(cells) <= max(self._places):
            raise DataError(self._too_few(line, len(cells)))
        pair = cells[self._places[0]], cells[self._places[1]]
        if self._chosen is None:
            if len(cells) == 2 and 2 in self._widths:  # nearly every line
                self._fitting += 1
            else:
                self._compare(cells)
            if self._fitting <= FIRST:
                self._look(cells)
        return pair

    def _too_few(self, line: str, count: int) -> str:
        if count > 1:
            return f"{max(self._places) + 1} columns were expected, got {count} in {excerpt(line)}"
        hint = ""
        if line.lstrip().startswith("{"):
            hint = "; a file of JSON lines has a name that ends in .jsonl"
        elif self._name.lower().removesuffix(".gz").endswith(".csv"):
            hint = "; tabs, not commas, part columns"
        return f"SOURCE TAB TARGET was expected, but there is no tab in {excerpt(line)}{hint}"

    def _compare(self, cells: list[str]) -> None:
        """Refuse a line with more or fewer columns than the first."""
        trimmed = len(cells)
        while trimmed > 2 and not cells[trimmed - 1].strip():
            trimmed -= 1
        if trimmed > 2:
            self._bad_lines.counts["columns"] += 1
        if not self._widths:
            self._widths = {len(cells), trimmed}
        if self._widths & {len(cells), trimmed}:
            self._fitting += 1
            return
        self._bad_lines.counts["columns"] -= trimmed > 2  # it is counted as one that holds no pair
        self._other += 1
        what = f"{min(self._widths)} columns were expected, as in the first line, got {trimmed}"
        how = "columns 1,2 (--columns 1,2) takes those two whatever follows"
        if self._other > FIRST and self._other > self._fitting:  # to drop them would be to drop the corpus
            raise UnusableFile(f"{self._name}: {what} in {self._other} of {self._other + self._fitting} lines; {how}.")
        raise DataError(f"{what}; {how}")

    def _look(self, cells: list[str]) -> None:
        self._rows.append([cell[:LONGEST].strip() for cell in cells[:LONGEST]])
        if self._fitting == FIRST:
            self.check()

    def check(self) -> None:
        """Refuse a column that holds no sentences, but numbers of lines or the like; raises UnusableFile."""
        if self._chosen is not None or self._fitting < 2:
            return
        held = [self._held(place) for place in range(min(map(len, self._rows)))]
        for place in self._places:
            if held[place]:
                sentences = [str(number) for number, what in enumerate(held, start=1) if not what][:2]
                others = ",".join(sentences) if len(sentences) == 2 else "1,2"
                raise UnusableFile(
                    f"{self._name} must hold sentences, but its column {place + 1} holds only {held[place]}: columns names the "
                    f"two that are meant, source first (--columns {others})."
                )

    def _held(self, place: int) -> str | None:
        """Name what a column holds in the place of sentences; its first line may be its name."""
        cells, wide = [row[place] for row in self._rows], max(self._widths) > 2
        if len(cells) >= (3 if wide else 10) and len(cells[0].split()) == 1:
            del cells[0]
        kinds = list(NO_SENTENCES) if wide else ["numbers"]
        return next((what for what in kinds if all(map(NO_SENTENCES[what], cells))), None)
