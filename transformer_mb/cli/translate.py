"""``transformer-mb translate``: standard input to standard output, one line per line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from . import options

NAME = "translate"
CHUNK = 4096  # lines that are sorted by length together; an input of any size needs little memory


def command(
    folder: options.Folder,
    beam: options.Beam = 1,
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: options.Dtype = "float32",
    max_steps: options.MaxSteps = None,
    batch_size: options.BatchSize = 64,
    attention: Annotated[
        Path | None,
        typer.Option(
            "--attention",
            help="Draw attention heatmaps: .png, .svg (one file per line: FILE, FILE-2, ...) or .html; .jsonl for programs.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Translate standard input, line by line, to standard output."""
    from ..figures.attention_files import attention_file, check_attention_path
    from .loading import load_translator

    check_attention_path(attention, force)
    translator = load_translator(folder, backend, device, dtype, batch_size=batch_size, max_steps=max_steps)
    size = 1 if sys.stdin.isatty() else CHUNK
    numbered = read_lines(sys.stdin.buffer)
    first = 1
    with attention_file(attention, translator) as write_attention:
        while lines := list(islice(numbered, size)):
            translations = translator.translate(lines, beam, first_line=first)
            write_attention(lines, translations)
            for text in translations:
                sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
            first += len(lines)


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines of UTF-8 without their ends; raises DataError with the number of a line that is not."""
    from ..errors import DataError

    for number, raw in enumerate(stream, start=1):
        try:
            yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Standard input must be UTF-8 text, but line {number}, byte {error.start + 1} is not: {error.reason}."
            ) from None
