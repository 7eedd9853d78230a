"""Few combinations of many settings in which every pair of values occurs, and the share of them that a seed runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

from ...errors import ParityError
from ...extras import install_command
from ...random_streams import stream

Row = dict[str, Any]


def _anything(row: Row) -> bool:
    return True


@dataclass(frozen=True)
class CoveringArray:
    """Settings with their values, the usual one first.

    ``possible`` says of a row that holds two settings alone whether these two values can go together; the array is made of
    such pairs. Whichever seeds follow one another, ``seeds_for_all(share)`` of them run every pair.
    """

    name: str
    settings: Mapping[str, Sequence[Any]]
    possible: Callable[[Row], bool] = field(default=_anything)

    @cached_property
    def rows(self) -> list[Row]:
        """In an order of their own, so that one seed's rows differ in every setting."""
        try:
            from covertable import make
        except ImportError:
            command = install_command("parity")
            raise ParityError(f"Cases are drawn with covertable, which is not installed. Install it with: {command}.") from None
        places = {name: list(range(len(values))) for name, values in self.settings.items()}
        made = make(places, constraints=[_apart(*pair) for pair in self._impossible()])
        order = stream("covering", self.name).permutation(len(made))
        return [{name: values[made[i][name]] for name, values in self.settings.items()} for i in order]

    def _impossible(self) -> list[tuple[tuple[str, int], tuple[str, int]]]:
        pairs = []
        for (first, ours), (second, theirs) in combinations(self.settings.items(), 2):
            for i, j in product(range(len(ours)), range(len(theirs))):
                if not self.possible({first: ours[i], second: theirs[j]}):
                    pairs.append(((first, i), (second, j)))
        return pairs

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


def _apart(first: tuple[str, int], second: tuple[str, int]) -> dict[str, Any]:
    """As covertable reads it: not both."""
    conditions = [{"operator": "ne", "left": name, "value": place} for name, place in (first, second)]
    return {"operator": "or", "conditions": conditions}
