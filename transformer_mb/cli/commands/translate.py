"""``transformer-mb translate``: standard input to standard output, one line per line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import decoding_options, options
from ..decoding_options import chosen_length_penalty, chosen_sampling, hypotheses_asked_for, scored_row, tell_long_lines
from ..reporting import tell_bad_lines, write_rows
from ..streams import chunk_size, numbered_chunks, standard_input

if TYPE_CHECKING:
    from ...inference.translation import Translator

NAME = "translate"


def command(
    folder: options.Folder,
    beam: decoding_options.Beam = 1,
    length_penalty: decoding_options.LengthPenalty = None,
    coverage_penalty: decoding_options.CoveragePenalty = 0.0,
    n_best: decoding_options.NBest = None,
    scores: decoding_options.Scores = False,
    sample: decoding_options.Sample = False,
    temperature: decoding_options.Temperature = None,
    top_k: decoding_options.TopK = None,
    top_p: decoding_options.TopP = None,
    seed: decoding_options.Seed = None,
    prefix_file: Annotated[
        Path | None,
        typer.Option("--prefix-file", help="What each translation begins with, line by line.", show_default=False),
    ] = None,
    too_long: decoding_options.TooLong = "cut",
    bad_lines: options.BadLines = "stop",
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: decoding_options.DecodingDtype = "float32",
    max_steps: decoding_options.MaxSteps = None,
    max_ratio: Annotated[
        float | None,
        typer.Option("--max-ratio", help="Longest translation: R times the source's tokens and 10.", show_default=False),
    ] = None,
    batch_size: decoding_options.BatchSize = 64,
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
    from ...data import BadLines
    from ...decoding.beam_search import check_search
    from ...decoding.coverage_penalty import check_coverage_penalty
    from ...figures.attention_files import attention_file, check_attention_path
    from ...inference.search_options import LineOptions
    from ...inference.translation import Translator

    seen = BadLines(bad_lines)
    check_attention_path(attention, force, never=(folder,))
    kept = hypotheses_asked_for(n_best, scores)
    sampling = chosen_sampling(sample, beam, kept is not None, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    penalty = chosen_length_penalty(length_penalty, beam, scores=kept is not None)
    check_search(beam, penalty, kept or 1)
    check_coverage_penalty(coverage_penalty)
    translator = Translator.load(folder, backend, device, dtype, batch_size=batch_size, max_steps=max_steps, too_long=too_long)
    with attention_file(attention, translator) as write_attention:
        chunks = numbered_chunks((line for _, line in standard_input(seen)), chunk_size())
        for first, lines, prefixes in prefix_lines(prefix_file, acceptable(translator, chunks)):
            more = LineOptions(
                coverage_penalty=coverage_penalty,
                sample=sampling,
                prefixes=prefixes,
                max_ratio=max_ratio,
                first=first - 1,
            )
            if kept is None:
                texts = translator.translate(lines, beam, penalty, **more)
                rows = texts
            else:
                found = translator.hypotheses(lines, beam, kept, penalty, **more)
                texts = [hypotheses[0].text for hypotheses in found]
                numbered = enumerate(found, start=first)
                rows = [scored_row(number, one, one.text) for number, hypotheses in numbered for one in hypotheses]
            write_attention(lines, texts)
            write_rows(rows)
    tell_bad_lines(seen)


def acceptable(translator: Translator, chunks: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Lines that can be translated. A line too long for ``--too-long stop`` raises, once those before it have been given."""
    for first, lines in chunks:
        tell_long_lines(translator, lines, first)
        refused = translator.excess(lines) if translator.too_long == "stop" else {}
        for number, count in refused.items():
            yield first, lines[:number]
            raise translator.length_error(first + number, count)
        yield first, lines


def prefix_lines(path: Path | None, chunks: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str], Any]]:
    """The chunks with the prefixes of their lines, None without a file; raises DataError where they are not as many."""
    from ...data.lines import numbered_lines
    from ...errors import DataError

    texts = (line for _, line in (() if path is None else numbered_lines(path)))
    count = 0
    for first, lines in chunks:
        taken = list(islice(texts, len(lines)))
        count += len(taken)
        if path is not None and len(taken) < len(lines):
            raise DataError(
                f"{path} must have one line per line of standard input, got {count} for at least {first + len(lines) - 1}."
            )
        yield first, lines, taken if path is not None else None
    if next(texts, None) is not None:
        raise DataError(f"{path} must have one line per line of standard input, got more than {count}.")
