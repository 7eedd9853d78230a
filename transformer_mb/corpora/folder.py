"""The folder of a corpus: its shards as they were planned, their translations, and all of these in the order of the lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from ..errors import UnitsError
from ..files.typed_record import check_record
from ..printable import counted
from ..units.folder import UnitFolder
from ..units.unit import name_of
from .shard import Shard

SHOWN = 5  # shards that an error names


class Described(TypedDict):
    """See ``Shard.description``."""

    first: int
    lines: int
    digest: str
    total: int
    corpus: str
    task: dict[str, Any]


class Translated(TypedDict):
    """Fields that are read of a shard's result; see ``shard.compute``."""

    unit: dict[str, Any]
    attempts: int
    tokens: int
    rows: list[str]


class CorpusFolder(UnitFolder):
    """The folder that ``translate --data --out`` writes."""

    def check_unit(self, described: Any, name: str) -> None:
        check_record(Described, described, "the shard")
        if name_of(described) != name:
            raise ValueError(f"the shard must be the one that its file is named after, got {name_of(described)}")

    def check_run(self, run: Any, name: str) -> None:
        check_record(Translated, run, "the file", others=True)
        self.check_unit(run["unit"], name)
        lines, rows, several = run["unit"]["lines"], len(run["rows"]), run["unit"]["task"].get("n_best") is not None
        if rows < lines or (rows > lines and not several):
            raise ValueError(f"it must have a row for each of {lines} lines, got {rows} rows")

    def check_is_of(self, shards: Sequence[Shard]) -> None:
        """Refuse a folder that was begun for another corpus, or in another way; raises UnitsError."""
        ours = shards[0].description
        for name in self.names():
            found = self.planned(name)
            if found is not None and found["corpus"] != ours["corpus"]:
                theirs, own = found["task"], ours["task"]
                others = [key for key in own if key not in theirs or theirs[key] != own[key]]
                got = ", ".join(others) or "lines of --data, or --shard-lines"
                raise UnitsError(f"--out must be a new folder, or one of this corpus, but {self.folder} has another: {got}.")

    def ordered(self) -> list[tuple[str, dict[str, Any]]]:
        """Return names and descriptions of a corpus's shards in order. Raises UnitsError unless they are all of one corpus."""
        planned: list[tuple[str, dict[str, Any]]] = []
        missing: set[str] = set()
        for name in self.names():
            one = self.found(name)  # with all rows of a shard, of which one at a time is in memory
            if one.refused:
                raise UnitsError(f"Each file of {self.folder} must be whole: {one.refused}. Start the same command again.")
            planned += [(name, one.described)] if one.described else []
            missing |= set() if one.run else {name}
        if not planned:
            raise UnitsError(f"--collect must be a folder that --data and --out made, got {self.folder}, which holds no shard.")
        planned.sort(key=lambda one: one[1]["first"])
        if len({described["corpus"] for _, described in planned}) > 1:
            raise UnitsError(f"--collect must be the folder of one corpus, got {self.folder}, which has shards of several.")
        place = 1
        for _, described in planned:
            if described["first"] != place:
                raise UnitsError(f"{self.folder} must have a shard from line {place:,} on, but nobody has planned it.")
            place += described["lines"]
        if place - 1 != planned[0][1]["total"]:
            raise UnitsError(
                f"{self.folder} must have {planned[0][1]['total']:,} lines, but shards of {place - 1:,} are planned."
            )
        self._check_translated([(name, one) for name, one in planned if name in missing])
        return planned

    def _check_translated(self, missing: Sequence[tuple[str, dict[str, Any]]]) -> None:
        if missing:
            some = ", ".join(f"{one['first']:,} to {one['first'] + one['lines'] - 1:,}" for _, one in missing[:SHOWN])
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise UnitsError(
                f"All lines must be translated before --collect, but {counted(len(missing), 'shard')} of {self.folder} "
                f"{'is' if len(missing) == 1 else 'are'} not: lines {some}{more}. Start the same command again."
            )

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows of each shard, in the order of the lines; raises UnitsError before the first unless all are there."""
        for name, _ in self.ordered():
            run = self.result(name)
            if run is None:
                raise UnitsError(f"{self.folder} must not change while it is collected, but {name} is gone.")
            yield run["rows"]
