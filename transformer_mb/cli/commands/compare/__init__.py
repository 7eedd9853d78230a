"""``transformer-mb compare``: how the frameworks themselves differ, one module per command."""

from __future__ import annotations

import typer

from ...arguments import Command
from ...reporting import guarded
from . import behaviours, effects, invariance, runs, versions

NAME = "compare"
app = typer.Typer(help="Measure how the frameworks themselves differ.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _compare() -> None:
    """Measure how the frameworks themselves differ."""


for module in (behaviours, effects, invariance, runs, versions):
    app.command(module.NAME, cls=Command)(guarded(module.command))
