"""Differences between six twins, explained in their own comments or in a note of the page that shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .twins import Cut

NOTE = re.compile(r"^(?P<backends>[a-z, ]+): `(?P<fragment>[^`]+)`: (?P<words>.+)$")


@dataclass
class Difference:
    """Lines of one twin that most others have not, next to each other, and the sentences that explain them."""

    backend: str
    cut: Cut
    first: int
    last: int
    sentences: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        start = self.cut.first
        return "\n".join(self.cut.lines[self.first - start : self.last - start + 1])


@dataclass(frozen=True)
class Note:
    """A sentence of a page about the lines of some backends that hold ``fragment``."""

    backends: tuple[str, ...]
    fragment: str
    words: str


def read_notes(lines: Iterable[str], backends: Sequence[str]) -> list[Note]:
    """Notes as ``torch, jax: `fragment`: sentence``; ``all`` stands for every backend. Raises ValueError for any other line."""
    notes = []
    for line in lines:
        found = NOTE.match(line)
        if not found:
            raise ValueError(f"A note must be BACKENDS: `FRAGMENT`: SENTENCE, got {line!r}.")
        named = tuple(name.strip() for name in found["backends"].split(","))
        if unknown := set(named) - {*backends, "all"}:
            raise ValueError(f"A note must name backends, got {', '.join(sorted(unknown))} in {line!r}.")
        notes.append(Note(tuple(backends) if named == ("all",) else named, found["fragment"], found["words"]))
    return notes


def differences(cuts: Mapping[str, Sequence[Cut]], notes: Sequence[Note] = ()) -> dict[str, list[Difference]]:
    """Find for each backend what less than most of them have. Raises LookupError for a note that is about no difference."""
    meanings = {backend: {one.meaning for part in parts for one in part.statements} for backend, parts in cuts.items()}
    common = Counter(meaning for found in meanings.values() for meaning in found)
    result = {
        backend: [one for part in parts for one in _of(backend, part, common, len(cuts))] for backend, parts in cuts.items()
    }
    for note in notes:
        for backend in note.backends:
            places = [one for one in result.get(backend, []) if note.fragment in one.text]
            if not places:
                raise LookupError(f"The note on {backend}'s `{note.fragment}` must be about lines that differ: none holds it.")
            for place in places:
                place.sentences.append(note.words)
    return result


def _of(backend: str, part: Cut, common: Mapping[str, int], count: int) -> list[Difference]:
    found: list[Difference] = []
    after_shared = True
    for statement in part.statements:
        if 2 * common[statement.meaning] > count:
            after_shared = True
            continue
        first = statement.first
        while first - 1 in part.comments and part.lines[first - 1 - part.first].lstrip().startswith("#"):
            first -= 1
        if after_shared:
            found.append(Difference(backend, part, first, statement.last))
        else:
            found[-1].last = max(found[-1].last, statement.last)
        after_shared = False
        if statement.words:
            found[-1].sentences.append(statement.words)
    for one in found:
        one.sentences = [*_spoken(part, one.first, one.last), *one.sentences]
    return found


def _spoken(part: Cut, first: int, last: int) -> list[str]:
    """The comments of these lines as sentences: those of lines next to each other are one."""
    sentences: list[str] = []
    previous = None
    for line in range(first, last + 1):
        if line in part.comments:
            own_line = part.lines[line - part.first].lstrip().startswith("#")
            if own_line and previous == line - 1:
                sentences[-1] += " " + part.comments[line]
            else:
                sentences.append(part.comments[line])
            previous = line if own_line else None
    # A name such as cuDNN keeps its small letter.
    return [re.sub(r"^[a-z](?![a-z]*[A-Z])", lambda found: found[0].upper(), one).rstrip(".") + "." for one in sentences]
