"""``transformer-mb new-backend``: the package of a backend of one's own, to be filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..options import argument, named_path
from ..reporting import say

NAME = "new-backend"


def command(
    name: Annotated[str, argument("NAME", "What the backend will be called.")],
    folder: Annotated[Path, argument("DIR", "The new folder of its package.")],
) -> None:
    """Write the package of a new backend, whose files say what to fill in."""
    from ...skeleton import write_package

    written = write_package(name, named_path(str(folder)))
    say(f"{len(written)} files in {folder}", f"begin with {folder / 'README.md'}")
