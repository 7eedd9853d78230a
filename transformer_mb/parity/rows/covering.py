"""Few combinations of many settings in which every pair of values occurs, of few settings every three values.

A seed runs a share of them. They lie in covering_arrays.json; ``python tests/parity/make_covering_arrays.py`` makes them, with
covertable, which takes seconds and is not needed to read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ...errors import ParityError

Row = dict[str, Any]
FEW = 13  # settings: three values of each that meet take four times as many combinations as two
STORED = Path(__file__).with_name("covering_arrays.json")


def _anything(row: Row) -> bool:
    return True


@cache
def _stored() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return made


@dataclass(frozen=True)
class CoveringArray:
    """Settings with their values, the usual one first.

    ``possible`` says of a row that holds two settings alone whether these two values can go together; the array is made of
    such pairs. Whichever seeds follow one another, ``seeds_for_all(share)`` of them run every pair, or every three.
    """

    name: str
    settings: Mapping[str, Sequence[Any]]
    possible: Callable[[Row], bool] = field(default=_anything)

    @cached_property
    def rows(self) -> list[Row]:
        """Return the rows in an order of their own, so that one seed's rows differ in every setting."""
        made = _stored().get(self.name, {"settings": [], "rows": []})
        if made["settings"] != self.sizes:
            raise ParityError(
                f"The covering array {self.name!r} must be made of today's settings, got one of others. Make it again with: "
                "python tests/parity/make_covering_arrays.py."
            )
        return [{name: self.settings[name][i] for (name, _), i in zip(self.sizes, row, strict=True)} for row in made["rows"]]

    @property
    def strength(self) -> int:
        """The number of values that meet in every way."""
        return 3 if len(self.settings) <= FEW else 2

    @property
    def sizes(self) -> list[list[Any]]:
        """Return each setting with the number of its values."""
        return [[name, len(values)] for name, values in self.settings.items()]

    def share(self, seed: int, size: int) -> list[Row]:
        """The ``size`` rows of a seed; the next seed has the next ones."""
        return [self.rows[(seed * size + i) % len(self.rows)] for i in range(size)]

    def words(self, row: Row) -> str:
        """The settings of a row that are not the usual ones, such as ``causal, T 2, no bias``."""
        words = [_word(name, row[name]) for name, values in self.settings.items() if row[name] != values[0]]
        return ", ".join(words) or "all as usual"

    def seeds_for_all(self, size: int) -> int:
        return -(-len(self.rows) // size)


def _word(name: str, value: Any) -> str:
    name = name.replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value}"
