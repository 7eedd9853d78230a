"""``transformer-mb port``: a model from one framework's files to another's, with the proof that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...printable import printable
from .. import options

NAME = "port"


def command(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A file or folder.", show_default=False)],
    destination: Annotated[Path, typer.Argument(metavar="DST", help="A new file or folder.", show_default=False)],
    to: Annotated[str, typer.Option("--to", help="Format, family or export, such as canonical, torch, onnx.")],
    from_: options.SourceFormat = None,
    config: options.ModelSettings = None,
    expect: Annotated[
        Path | None,
        typer.Option("--expect", help="An .npz of inputs and outputs of your own model, to be met.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace DST.")] = False,
    json_file: options.JsonFile = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="List checksums, tokens and recorded fields too.")] = False,
) -> None:
    """Port a model to another format, and prove on a padded batch that it computes the same."""
    from ..termination import ended_cleanly

    with ended_cleanly():
        from ...porting.port import port

        report = port(source, destination, to, from_, config=config, force=force, report_file=json_file, expect=expect)
    print("\n".join(map(printable, report.lines(verbose))))
