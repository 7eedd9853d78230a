"""``translate --data`` and ``--collect``: corpora translated in shards, and put together again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printable import counted
from ..reports.output import tell
from .options import option
from .placing import Placing, given_options, tell_line
from .reporting import ended_cleanly, tell_bad_lines
from .streams import rows_to

if TYPE_CHECKING:
    from ..corpora.shard import Shard, Task

SHARD_LINES = 10_000  # minutes of work: loading a model takes little of it, and a lost node loses no more


@dataclass(frozen=True)
class Corpora:
    """The options of corpora."""

    data: Annotated[list[Path] | None, option("--data", "Translate a file, or several, in shards, into --out.")] = None
    out: Annotated[Path | None, option("--out", "A folder for --data, a file per shard; none is done again.")] = None
    shard_lines: Annotated[int, option("--shard-lines", "Lines of a shard of --data.", min=1)] = SHARD_LINES
    shard: Annotated[
        str | None, option("--shard", "Of --data, K/N: the K-th of N parts alone, as tasks of Slurm or Kubernetes.")
    ] = None
    collect: Annotated[
        Path | None, option("--collect", "Print the translations that such a folder holds, in the order of the lines.")
    ] = None

    @property
    def wanted(self) -> bool:
        return self != Corpora()

    def check(self, placing: Placing, alone: Mapping[str, Any]) -> None:
        """Refuse what does not go together; raises UnitsError. ``alone``: options of lines one by one, None if not given."""
        from ..errors import UnitsError

        named = [f"--{name}" for name, value in alone.items() if value is not None]
        if self.collect is not None:
            if others := [one for one in (*given_options(self), *given_options(placing), *named) if one not in ALLOWED]:
                raise UnitsError(f"--collect must come with --output and --force alone, got {', '.join(others)}.")
            if not self.collect.is_dir():
                raise UnitsError(f"--collect must be the folder of a corpus, got {self.collect}, which is no folder.")
        elif not self.wanted:
            if rays := given_options(placing):
                raise UnitsError(f"{', '.join(rays)} must come with --data and --out.")
        elif not self.data or self.out is None:
            raise UnitsError(f"A corpus needs --data and --out, got {', '.join(given_options(self))}.")
        elif named:
            raise UnitsError(f"{', '.join(named)} must be of lines that are translated one after the other, got --data beside.")
        else:
            placing.check()

    def chosen(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards of ``--shard``; all of them without. Raises ParityError."""
        from ..parity.selection import part_of

        part, parts = (1, 1) if self.shard is None else part_of(self.shard, "--shard")
        return list(shards[part - 1 :: parts])


ALLOWED = ("--collect", "--output")


def collect(folder: Path, output: Path | None, force: bool) -> None:
    """Write what a corpus became, as lines."""
    from ..corpora.folder import CorpusFolder
    from ..files.whole_file import check_result_file

    check_result_file(output, force, never=(folder,))
    shards = CorpusFolder(folder).rows()
    first = next(shards)  # what is not all there leaves no file behind
    with rows_to(output) as write:
        write(first)
        for rows in shards:
            write(rows)


def translate_corpus(asked: Corpora, placing: Placing, task: Task) -> None:
    """Translate the shards that ``--out`` does not hold yet; an exit status of 1 where one could not be."""
    from ..corpora.folder import CorpusFolder
    from ..corpora.progress import Progress
    from ..corpora.ranges import ranges_of
    from ..corpora.shard import answered, shards_of
    from ..data import BadLines
    from ..errors import DataError
    from ..files.whole_file import check_writable
    from ..units.running import missing, run_missing

    assert asked.data is not None and asked.out is not None
    check_writable(asked.out / "units" / "a file")
    seen, folder = BadLines(task.bad_lines), CorpusFolder(asked.out)
    shards = shards_of(list(ranges_of(asked.data, asked.shard_lines, seen)), task)
    if not shards:
        raise DataError(f"--data must hold lines, got none in {', '.join(map(str, asked.data))}.")
    tell_bad_lines(seen)
    folder.check_is_of(shards)
    own = asked.chosen(shards)
    for shard in shards:  # a task of several plans all, so that one that never began is missed
        folder.plan(shard)
    new = missing(own, folder)
    there = f"{len(own) - len(new)} of them in {asked.out} already"
    tell(f"{counted(shards[0].total, 'line')}, {counted(len(own), 'shard')}, {there}")
    if not new:
        return
    progress = Progress(sum(shard.range.lines for shard in new))
    with ended_cleanly(), placing.engine(answered, task.on_gpu, None) as engine:
        unable = run_missing(own, folder, engine, tell_line, progress.told)
    if progress.long:
        long = f"{counted(progress.long, 'line')} had more tokens than the model takes"
        tell(f"Warning: {long} (--too-long {task.options['too_long']}).")
    if unable:
        tell(f"Error: {counted(len(unable), 'shard')} could not be translated. Start the same command again.")
        raise typer.Exit(1)
