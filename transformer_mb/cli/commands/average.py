"""``transformer-mb average``: one model of several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options
from ..reporting import say

NAME = "average"
FOLDERS = "One checkpoint folder that keeps several weights (train --keep-best), or several folders."
LAST = "Of one folder: only the N that were trained longest."


def command(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help=FOLDERS, show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="The folder of the mean.", show_default=False, parser=options.named_path,
                                      metavar="PATH")],
    last: Annotated[int | None, typer.Option("--last", min=1, help=LAST, show_default=False)] = None,
    force: options.Force = False,
) -> None:  # fmt: skip
    """Write a model whose weights are the mean of others'."""
    from ...checkpoint import average

    sources = average(folders, out, last=last, force=force)
    say(f"the mean of {len(sources)}: {', '.join(sources)}", f"saved in {out}")
