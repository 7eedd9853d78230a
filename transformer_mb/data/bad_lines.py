"""Bad lines of a corpus: found, counted, and left out or refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..errors import ConfigError, DataError

ACTIONS = ("stop", "drop")
REMEDY = "bad_lines drop (--bad-lines drop) leaves such lines out."
LONGEST_WORDS, LONGEST_CHARACTERS = 10_000, 100_000  # of a side; text without spaces has characters alone
# In words, and what becomes of such a line; None: it stops the reading, or is dropped where that is asked for.
KINDS: dict[str, tuple[str, str | None]] = {
    "blank": ("with a blank side", "skipped"),
    "no_utf8": ("that are no UTF-8 text", None),
    "no_pair": ("that hold no pair", None),
    "nul": ("with NUL characters", None),
    "long": (f"of more than {LONGEST_WORDS:,} words or {LONGEST_CHARACTERS:,} characters", None),
    "control": ("with control characters", "kept"),
    "carriage_return": ("that end in CR LF", "read as LF"),
    "return_inside": ("with a carriage return inside", "kept"),
    "byte_order_mark": ("that begin with a byte-order mark", "read without it"),
    "header": ("that name the columns", "left out"),
    "columns": ("with more than two columns", "read without the others"),
    "tab": ("with a tab, which parts no columns in parallel files", "kept"),
    "same": ("whose two sides are the same", "kept"),
}
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # tabs, CR and LF are layout, which text pipelines know


class BadLines:
    """The bad lines of one reading.

    Args:
        action: ``stop`` refuses a line that cannot be trained on; ``drop`` leaves it out, and those with control characters.
        remedy: the sentence after what is refused; "" where nothing can be dropped.
    Attributes:
        counts: by kind (``KINDS``).
    """

    def __init__(self, action: str = "stop", remedy: str = REMEDY):
        if action not in ACTIONS:
            raise ConfigError(f"bad_lines must be one of {', '.join(ACTIONS)}, got {action!r}.")
        self.action, self.remedy = action, remedy
        self.counts: Counter[str] = Counter()

    def refuse(self, kind: str, error: DataError) -> None:
        """Count a line that is to be dropped; raises the error otherwise."""
        if self.action == "stop":
            raise error
        self.counts[kind] += 1

    def notes(self) -> Iterator[str]:
        """A line for each kind that was found, blank ones aside."""
        return counts_in_words({**self.counts, "blank": 0}, self.action)

    def accepts(
        self, texts: Sequence[str], names: Sequence[str], number: int, refused: Sequence[str] = ("nul", "long")
    ) -> bool:
        """Tell whether line ``number``, from 1, is to be used: its texts stand in the files ``names``. Raises DataError."""
        found = dict(zip(map(_kind, texts), names, strict=True))
        for kind in refused:
            if kind in found:
                words, _ = KINDS[kind]
                place = f"{found[kind]}, line {number},"
                refused = f"{place} must be a line of text, but is one {words}. {self.remedy}".rstrip()
                self.refuse(kind, DataError(refused))
                return False
        self.counts["control"] += "control" in found
        return "control" not in found or self.action == "stop"


def counts_in_words(counts: Mapping[str, int], action: str) -> Iterator[str]:
    """A line for each kind that occurs."""
    for kind, (words, fate) in KINDS.items():
        if counts.get(kind):
            done = "dropped" if fate is None or (kind == "control" and action == "drop") else fate
            yield f"lines {words}: {counts[kind]:,} {done}"


def _kind(text: str) -> str | None:
    """Name the fault of a text, if it has one."""
    control = not text.isprintable() and CONTROL.search(text)
    if control and "\0" in text:
        return "nul"
    if len(text) > LONGEST_WORDS and (len(text) > LONGEST_CHARACTERS or len(text.split()) > LONGEST_WORDS):
        return "long"
    return "control" if control else None
