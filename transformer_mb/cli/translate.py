"""``transformer-mb translate``: standard input to standard output, one line per line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .length_penalty import chosen_length_penalty
from .long_lines import tell_long_lines
from .reporting import write_rows

if TYPE_CHECKING:
    from ..translation import Hypothesis, Translator

NAME = "translate"
CHUNK = 4096  # lines that are sorted by length together; an input of any size needs little memory


def command(
    folder: options.Folder,
    beam: options.Beam = 1,
    length_penalty: options.LengthPenalty = None,
    n_best: Annotated[
        int | None,
        typer.Option("--n-best", min=1, help="Print the N best of the beam, as --scores does.", show_default=False),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Print LINE, SCORE, LOG-PROBABILITY and TRANSLATION with tabs between.")
    ] = False,
    too_long: options.TooLong = "cut",
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
    from ..beam_search import check_search
    from ..figures.attention_files import attention_file, check_attention_path
    from ..translation import Translator

    check_attention_path(attention, force, never=(folder,))
    kept = n_best or 1 if n_best or scores else None
    penalty = chosen_length_penalty(length_penalty, beam, scores=kept is not None)
    check_search(beam, penalty, kept or 1)
    translator = Translator.load(folder, backend, device, dtype, batch_size=batch_size, max_steps=max_steps, too_long=too_long)
    with attention_file(attention, translator) as write_attention:
        for first, lines in acceptable(translator, numbered_chunks()):
            if kept is None:
                texts = translator.translate(lines, beam, penalty)
                rows = texts
            else:
                found = translator.hypotheses(lines, beam, kept, penalty)
                texts = [hypotheses[0].text for hypotheses in found]
                rows = [row for number, one in enumerate(found, start=first) for row in described(number, one)]
            write_attention(lines, texts)
            write_rows(rows)


def described(number: int, hypotheses: Sequence[Hypothesis]) -> Iterator[str]:
    for one in hypotheses:
        yield f"{number}\t{one.score:.6f}\t{one.log_probability:.6f}\t{one.text}"


def acceptable(translator: Translator, chunks: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Lines that can be translated. A line too long for ``--too-long stop`` raises, once those before it have been given."""
    for first, lines in chunks:
        tell_long_lines(translator, lines, first)
        refused = translator.excess(lines) if translator.too_long == "stop" else {}
        for number, count in refused.items():
            yield first, lines[:number]
            raise translator.length_error(first + number, count)
        yield first, lines


def numbered_chunks() -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, from 1, and the lines. One that cannot be read raises, once those before it were given."""
    from ..data.readers import decoded_lines
    from ..errors import ConfigError, DataError

    if sys.stdin is None:
        raise ConfigError("Standard input must be open, got it closed; < /dev/null gives it no lines.")
    size = 1 if sys.stdin.isatty() else CHUNK
    first, lines, failure = 1, [], None
    try:
        for _, line in decoded_lines(sys.stdin.buffer, "Standard input"):
            lines.append(line)
            if len(lines) == size:
                yield first, lines
                first, lines = first + size, []
    except DataError as error:
        failure = error
    if lines:
        yield first, lines
    if failure:
        raise failure
