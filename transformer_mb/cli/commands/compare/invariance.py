"""``transformer-mb compare invariance``: whether a sentence is translated the same whatever it is computed with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ....reports.output import Output, tell
from ... import options
from ...options import option

NAME = "invariance"


def command(
    backends: options.Backends = None,
    dtype: Annotated[list[str] | None, option("--dtype", "Of weights and activations. [default: float32, float64]")] = None,
    json_file: options.JsonFile = None,
    markdown: Annotated[Path | None, options.markdown("the table")] = None,
    force: options.Force = False,
) -> None:
    """Compare a sentence's translation alone, in batches, padded, in pieces, and with two threads, bit for bit.

    Exit status: 0 measured, whatever differs; 1 a backend could not be measured; 2 the call was wrong.
    """
    from ....built_in import EVERY_DTYPE
    from ....columns.options import names
    from ....compare.invariance import every, page, record, table
    from ....registry import entries, installed

    chosen = names("--backends", backends, list(entries()), installed)
    dtypes = names("--dtype", dtype, EVERY_DTYPE, lambda: ["float32", "float64"])
    output = Output(json_file, markdown, force)
    output.check()
    found, failed = every(chosen, dtypes, tell)
    if found:
        table(found).show()
        output.write(record(found), lambda: page(found))
    for line in failed:
        tell(f"Error: {line}")
    if failed:
        raise typer.Exit(1)
