"""What is said of lines that have more tokens than a model has positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .reporting import tell

if TYPE_CHECKING:
    from ..translation import Translator

DONE = {"cut": "only the first {longest} were translated", "skip": "it was skipped and its output is an empty line"}


def tell_long_lines(translator: Translator, lines: Sequence[str], first: int = 1) -> None:
    """A warning for each line that ``--too-long`` cuts or skips. first: the number of the first line."""
    if translator.too_long in DONE:
        done = DONE[translator.too_long].format(longest=translator.longest)
        for number, count in translator.excess(lines).items():
            tell(f"Warning: Line {first + number} has {count} tokens and the model takes {translator.longest}: {done}.")
