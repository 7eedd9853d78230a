"""The cells that were asked for: patterns of their ids, and what else an id that is none may have meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from ..built_in import EVERY_DTYPE
from ..errors import ParityError
from .cells import Cell

WHOLE = (1, 1)
LIKE, SHOWN = 0.6, 3  # how alike an id is that is suggested, and how many are


@dataclass(frozen=True)
class Selection:
    """The part of the matrix that was asked for.

    Args:
        cases: ids of cells as they are printed (``row: case [dtype]``), or patterns of them in which * stands for any
            text and ? for one character, such as ``*cross-attention*``; several with | between. Brackets stand for
            themselves, so that an id can be pasted. None takes all.
        controls: plant the negative controls too.
        data: the pairs of the training job; None is the built-in corpus.
        part: k of n parts, as (k, n) with k from 1 on: it has every n-th experiment, with its controls.
    """

    dtypes: Sequence[str] = EVERY_DTYPE
    cases: str | None = None
    seed: int = 0
    controls: bool = False
    data: Path | None = None
    part: tuple[int, int] = WHOLE

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        return ("*",) if self.cases is None else tuple(pattern.strip() for pattern in self.cases.split("|"))

    @property
    def job(self) -> str:
        """The name of the pairs that the training job has."""
        return "built-in corpus" if self.data is None else self.data.name

    def may_take(self, begin: str) -> bool:
        """Tell whether a pattern may match an id that begins so: what stands before its first star or question mark does."""
        starts = (re.split(r"[*?]", pattern)[0] for pattern in self.patterns)
        return any(begin.startswith(start) or start.startswith(begin) for start in starts)

    def takes(self, cell: Cell) -> bool:
        return cell.dtype in self.dtypes and any(matches(pattern, cell.id) for pattern in self.patterns)


def matches(pattern: str, name: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))


def part_of(text: str, option: str = "--part") -> tuple[int, int]:
    """``2/8`` as a pair. Raises ParityError, which names the option, for anything else."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ParityError(f"{option} must be K/N, the K-th of N parts, such as 2/8, got {text!r}.")
    return int(number), int(count)


def check_patterns(patterns: Sequence[str], ids: Sequence[str], others: Sequence[str]) -> None:
    """Refuse, with ParityError, a pattern that takes nothing, and say what it may have meant.

    Args:
        ids: of the cells that the columns and dtypes of this run have. others: of those that other runs have.
    """
    empty = [pattern for pattern in patterns if not any(matches(pattern, name) for name in ids)]
    if empty:
        raise ParityError(f"No cell was selected: {'; '.join(_meant(pattern, ids, others) for pattern in empty)}.")


def _meant(pattern: str, ids: Sequence[str], others: Sequence[str]) -> str:
    if elsewhere := [name for name in others if matches(pattern, name)]:
        return f"{pattern!r} must match a cell of these backends and dtypes, but only others have {_few(elsewhere)}"
    words = f"{pattern!r} must match one of {len(ids)} ids"
    if around := [name for name in ids if pattern.strip("*") and matches(f"*{pattern.strip('*')}*", name)]:
        return f"{words}; with stars, '*{pattern.strip('*')}*' matches {_few(around)}"
    # A whole id that was mistyped, or the row or the case in one.
    parts = dict.fromkeys(part for name in ids for part in (name, *name.partition(" [")[0].split(": ", 1)))
    near = get_close_matches(pattern.strip("*"), parts, n=SHOWN, cutoff=LIKE)
    suggested = " or ".join(repr(part if part in ids else f"*{part}*") for part in near)
    return f"{words}; near to it is {suggested}" if near else f"{words}, such as {_few(ids)}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
