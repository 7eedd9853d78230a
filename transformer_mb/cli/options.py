"""Options that several commands share, so that they are the same everywhere; those of decoding are in decoding_options.py."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def named_path(text: str) -> Path:
    """A path as the user wrote it; the empty one would be this folder."""
    if not text:
        raise typer.BadParameter("a path was expected, got ''.")
    return Path(text)


def option(*flags_and_words: str, **more: Any) -> Any:
    """An option: its flags, then its words; ``more`` as ``typer.Option`` takes them."""
    *flags, words = flags_and_words
    return typer.Option(*flags, help=words, **more)


def argument(metavar: str, words: str) -> Any:
    """An argument and its words."""
    return typer.Argument(metavar=metavar, help=words, show_default=False)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command have options by the dataclass: a parameter that is one stands for its fields, and gets them as one."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, one in inspect.signature(command, eval_str=True).parameters.items():
        if dataclasses.is_dataclass(one.annotation):
            groups[name] = one.annotation
            parameters += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            parameters.append(one)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in group.__dataclass_fields__})
        command(**given)

    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    return run


Backend = Annotated[str | None, option("--backend", "Framework; else TRANSFORMER_MB_BACKEND, else numpy.")]
Backends = Annotated[list[str] | None, option("--backends", "Names separated by commas; default: all installed.")]
Device = Annotated[str | None, option("--device", "As the framework names it; else its default.")]
Devices = Annotated[
    list[str] | None,
    option("--device", "cuda, gpu:0, ... for all but NumPy; NAME=DEVICE for one backend; commas between several."),
]
Dtype = Annotated[str, option("--dtype", "Of weights and activations.")]
Force = Annotated[bool, option("--force", "Replace results that are there already.")]
Report = Annotated[Path | None, option("--report", "A folder for the results as a page for a browser, index.html.")]
JsonFile = Annotated[Path | None, option("--json", "Write the results here as JSON.")]
BadLines = Annotated[
    str, option("--bad-lines", "At a line that is no UTF-8 or has a NUL character: stop, or leave it out.", metavar="stop|drop")
]
Data = Annotated[
    Path,
    option("--data", "SOURCE TAB TARGET lines, .jsonl, or the source side with --target.", parser=named_path, metavar="PATH"),
]
OptionalData = Annotated[Path | None, option("--data", "SOURCE TAB TARGET lines, or the source side with --target.")]
Target = Annotated[Path | None, option("--target", "The target side, line by line.")]
Fields = Annotated[str | None, option("--fields", "Two field names of JSON lines, as source,target.")]
Columns = Annotated[str | None, option("--columns", "Two column numbers of lines with tabs, source first, as 2,3.")]
NumExamples = Annotated[int | None, option("--num-examples", "Read only the first N lines.", min=1)]
Folder = Annotated[Path, argument("DIR", "A checkpoint folder.")]
Folders = Annotated[list[Path], argument("DIR...", "A checkpoint folder; several translate as one, by their mean.")]
SomeFolders = Annotated[list[Path] | None, argument("DIR...", "A checkpoint folder; several translate as one, by their mean.")]
SourceFormat = Annotated[str | None, option("--from", "Format or family; else recognized.")]
ModelSettings = Annotated[Path | None, option("--config", "JSON or TOML: what no weight file holds, such as num_heads.")]


def columns_of(text: str | None) -> list[Any] | None:
    """``2,3`` as numbers; what is no number stays as it is, and the reader refuses it."""
    return None if text is None else [int(one) if one.strip().isdecimal() else one for one in text.split(",")]


# Options that each command has for something of its own.


def only(what: str) -> Any:
    return option("--only", f"{what} by name; * is any text; separate several with |.")


def markdown(what: str) -> Any:
    return option("--markdown", f"Write {what} as Markdown.")


def timeout(what: str) -> Any:
    return option("--timeout", f"Seconds that one {what} may take.", min=1.0)


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
