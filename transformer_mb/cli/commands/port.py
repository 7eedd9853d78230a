"""``transformer-mb port``: a model from one framework's files to another's, with the proof that it is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ...printable import printable
from .. import options
from ..options import argument, option

NAME = "port"


def command(
    source: Annotated[Path, argument("SRC", "A file or folder.")],
    destination: Annotated[Path, argument("DST", "A new file or folder.")],
    to: Annotated[str, option("--to", "Format, family or export, such as canonical, torch, onnx.")],
    from_: options.SourceFormat = None,
    config: options.ModelSettings = None,
    expect: Annotated[Path | None, option("--expect", "An .npz of inputs and outputs of your own model, to be met.")] = None,
    force: Annotated[bool, option("--force", "Replace DST.")] = False,
    json_file: options.JsonFile = None,
    verbose: Annotated[bool, option("--verbose", "List checksums, tokens and recorded fields too.")] = False,
) -> None:
    """Port a model to another format, and prove on a padded batch that it computes the same."""
    from ..reporting import ended_cleanly

    with ended_cleanly():
        from ...porting.port import port

        report = port(source, destination, to, from_, config=config, force=force, report_file=json_file, expect=expect)
    print("\n".join(map(printable, report.lines(verbose))))
