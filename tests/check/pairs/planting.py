"""Mistakes planted into pairs: copies of a candidate's file with a text changed, and maps with entries changed."""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from check.pairs.table import PAIRS, Pair
from check.pairs.wrong_maps import HARMLESS, WRONG_MAPS

TEXTS = Path(__file__).with_name("mistakes.toml")


@dataclass(frozen=True)
class Mistake:
    """One mistake: its pair, what it is, the module of the reference that must be named, and what is changed.

    ``named``: whether it is; ``in_float32``: whether float32 alone shows it. Both are said where they are not so.
    """

    pair: str
    what: str
    module: str
    old: str = ""
    new: str = ""
    sizes: dict = field(default_factory=dict)
    entries: dict = field(default_factory=dict)
    named: bool = True
    in_float32: bool = True

    def __str__(self):
        return f"{self.pair}: {self.what}"

    def planted(self, folder: Path) -> Pair:
        """Return the pair with it; a changed copy of the candidate's file is put into the folder."""
        pair = PAIRS[self.pair]
        pair = replace(pair, sizes=pair.sizes | self.sizes)
        if self.entries:
            return replace(pair, weights=pair.weights | self.entries)
        where, _, attribute = pair.candidate.factory.rpartition(":")
        text = Path(where).read_text()
        assert text.count(self.old) == 1, f"{self}: {self.old!r} must stand once in {where}"
        copy = folder / Path(where).name
        copy.write_text(text.replace(self.old, self.new))
        return replace(pair, candidate=replace(pair.candidate, factory=f"{copy}:{attribute}"))


def _read() -> list[Mistake]:
    by_text = [Mistake(pair, **mistake) for pair, rows in tomllib.loads(TEXTS.read_text()).items() for mistake in rows]
    return by_text + [Mistake(one.pair, one.what, one.module, entries=one.entries, named=one.named) for one in WRONG_MAPS]


MISTAKES = _read()
NO_MISTAKES = [Mistake(one.pair, one.what, one.module, entries=one.entries) for one in HARMLESS]
