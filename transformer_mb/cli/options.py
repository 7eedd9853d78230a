"""Options that several commands share, so that they are the same everywhere; those of decoding are in decoding_options.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def named_path(text: str) -> Path:
    """A path as it was given; the empty one would be this folder."""
    if not text:
        raise typer.BadParameter("a path was expected, got ''.")
    return Path(text)


Backend = Annotated[
    str | None, typer.Option("--backend", help="Framework; else TRANSFORMER_MB_BACKEND, else numpy.", show_default=False)
]
Backends = Annotated[list[str] | None, typer.Option("--backends", help="Names separated by commas; default: all installed.")]
Device = Annotated[
    str | None, typer.Option("--device", help="As the framework names it; else its default.", show_default=False)
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", help="cuda, gpu:0, ... for all but NumPy; NAME=DEVICE for one backend; commas between several."),
]
Dtype = Annotated[str, typer.Option("--dtype", help="Of weights and activations.")]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the results here as JSON.", show_default=False)]
BadLines = Annotated[
    str,
    typer.Option(
        "--bad-lines", metavar="stop|drop", help="At a line that is no UTF-8 or has a NUL character: stop, or leave it out."
    ),
]
Data = Annotated[
    Path,
    typer.Option(
        "--data",
        help="SOURCE TAB TARGET lines, .jsonl, or the source side with --target.",
        show_default=False,
        parser=named_path,
        metavar="PATH",
    ),
]
OptionalData = Annotated[
    Path | None,
    typer.Option("--data", help="SOURCE TAB TARGET lines, or the source side with --target.", show_default=False),
]
Target = Annotated[Path | None, typer.Option("--target", help="The target side, line by line.", show_default=False)]
Fields = Annotated[
    str | None, typer.Option("--fields", help="Two field names of JSON lines, as source,target.", show_default=False)
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Two column numbers of lines with tabs, source first, as 2,3.", show_default=False),
]
NumExamples = Annotated[
    int | None, typer.Option("--num-examples", min=1, help="Read only the first N lines.", show_default=False)
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A checkpoint folder.", show_default=False)]
Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR...", help="A checkpoint folder; several translate as one, by their mean.", show_default=False),
]
SourceFormat = Annotated[str | None, typer.Option("--from", help="Format or family; else recognized.", show_default=False)]
ModelSettings = Annotated[
    Path | None,
    typer.Option("--config", help="JSON or TOML: what no weight file holds, such as num_heads.", show_default=False),
]


def columns_of(text: str | None) -> list[Any] | None:
    """``2,3`` as numbers; what is no number stays as it is, and the reader refuses it."""
    return None if text is None else [int(one) if one.strip().isdecimal() else one for one in text.split(",")]


# Options that each command has for something of its own.


def only(what: str) -> Any:
    return typer.Option("--only", help=f"{what} by name; * is any text; separate several with |.")


def markdown(what: str) -> Any:
    return typer.Option("--markdown", help=f"Write {what} as Markdown.", show_default=False)


def timeout(what: str) -> Any:
    return typer.Option("--timeout", min=1.0, help=f"Seconds that one {what} may take.")


# An option whose value may be left out, which Typer does not know.
ALONE = "yes"  # the value of an option that stands alone
VALUES = {"--resume": ("auto",)}


def with_values(arguments: Sequence[str]) -> list[str]:
    """``--resume`` becomes ``--resume=yes`` where none of its values follows."""
    following = [*arguments, ""][1:]
    return [
        f"{one}={ALONE}" if one in VALUES and after not in VALUES[one] else one
        for one, after in zip(arguments, following, strict=True)
    ]
