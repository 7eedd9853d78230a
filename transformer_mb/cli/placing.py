"""The options of commands that run many units of work: where these run, and what they need there."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ..printable import printable
from .options import option

if TYPE_CHECKING:
    from ..units.running import Answering, Engine

HERE, RAY = "local", "ray"


def given_options(group: Any) -> list[str]:
    """Return the options of a group that were given, as a user writes them."""
    nothing = vars(type(group)())
    return [f"--{name.replace('_', '-')}" for name, value in vars(group).items() if value != nothing[name]]


@dataclass(frozen=True)
class Placing:
    """The place where units run."""

    on: Annotated[str, option("--on", "Where the runs are done whose results --out keeps.", metavar="local|ray")] = HERE
    address: Annotated[str | None, option("--address", "A running Ray cluster, HOST:PORT or auto; else one is started.")] = None
    needs: Annotated[
        list[str] | None,
        option("--needs", "Of a node, for --on ray: GPU=1, memory=BYTES, or NAME=AMOUNT of a resource of your cluster."),
    ] = None
    without_token: Annotated[
        bool, option("--without-token", "Take a Ray cluster on which anyone who reaches it can run programs.")
    ] = False

    def check(self) -> None:
        """Refuse options that do not go together; raises UnitsError."""
        from ..errors import UnitsError

        if self.on not in (HERE, RAY):
            raise UnitsError(f"--on must be {HERE} or {RAY}, got {self.on!r}.")
        if self.on == HERE and (rays := given_options(self)):
            raise UnitsError(f"{', '.join(rays)} must come with --on {RAY}.")

    def engine(self, answer: Answering, on_gpu: bool, jobs: int | None) -> AbstractContextManager[Engine]:
        """The engine that was chosen; a GPU for units that compute on one, unless more or fewer are asked for."""
        if self.on == HERE:
            from ..units.running import in_turn

            return nullcontext(in_turn(answer, jobs))
        from ..units.on_ray import on_ray

        return on_ray(answer, self.address, needs_of(self.needs or (), on_gpu), jobs, self.without_token)


def needs_of(given: Sequence[str], on_gpu: bool) -> dict[str, float]:
    """Return amounts by resource; raises UnitsError."""
    from ..errors import UnitsError

    needs: dict[str, float] = {"GPU": 1.0} if on_gpu else {}
    for one in given:
        match = re.fullmatch(r"\s*(.+?)\s*=\s*(\d*\.?\d+(?:e[+-]?\d+)?)\s*", one)
        if match is None or match[1] == "CPU" or not float(match[2]):
            raise UnitsError(f"--needs must be NAME=AMOUNT, above 0, of anything but CPU, got {one!r}.")
        needs[match[1]] = float(match[2])
    return needs


def tell_line(line: str) -> None:
    """Say on standard error what a unit came to."""
    print(printable(line), file=sys.stderr, flush=True)
