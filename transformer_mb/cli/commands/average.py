"""``transformer-mb average``: one model of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .. import options
from ..options import argument, option
from ..reporting import say

NAME = "average"
FOLDERS = "One checkpoint folder that keeps several weights (train --keep-best), or several folders."
LAST = "Of one folder: only the N that were trained longest."


def command(
    folders: Annotated[list[Path], argument("DIR...", FOLDERS)],
    out: Annotated[Path, option("--out", "The folder of the mean.", parser=options.named_path, metavar="PATH")],
    last: Annotated[int | None, option("--last", LAST, min=1)] = None,
    force: options.Force = False,
) -> None:  # fmt: skip
    """Write a model whose weights are the mean of others'."""
    from ...checkpoint import average

    sources = average(folders, out, last=last, force=force)
    say(f"the mean of {len(sources)}: {', '.join(sources)}", f"saved in {out}")
