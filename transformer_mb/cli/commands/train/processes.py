"""``train`` in several processes: starting them, and being one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from ....reports.output import tell

if TYPE_CHECKING:
    from ....distributed import Place


MOST = 1024  # on one machine


def started(arguments: Sequence[str], size: int) -> None:
    """Run the same command as so many processes, each of which is told that it is one of them; raises ConfigError."""
    from ....errors import ConfigError
    from ....training.launch import launch

    if size > MOST:
        raise ConfigError(f"processes must be at most {MOST}, got {size}.")
    status, words = launch([*map(str, arguments), "--distributed"], size)
    if words:
        tell(f"Error: {words}")
    if status:
        raise typer.Exit(status)


def of_several(expected: int | None) -> Place:
    """Which process this is; raises DistributedError, or ConfigError where there are not as many as ``--processes`` says."""
    from ....distributed import Place
    from ....errors import ConfigError

    place = Place.from_environment()
    if expected is not None and expected != place.size:
        raise ConfigError(f"processes must be how many are started with --distributed, {place.size}, got {expected}.")
    return place


@contextmanager
def said_by(place: Place | None) -> Iterator[None]:
    """Inside, an error says which of several processes it comes from."""
    try:
        yield
    except Exception as error:
        name = "" if place is None or place.size == 1 else f"rank {place.rank} of {place.size}"
        if name and not isinstance(error, typer.Exit) and name not in str(error).lower():
            error.args = (f"{name}: {error}",)
        raise
