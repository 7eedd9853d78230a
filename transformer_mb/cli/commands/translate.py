"""``transformer-mb translate``: standard input, or a file, to standard output, or a file, one line per line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from ...reports.output import tell
from .. import corpora, decoding_options, options
from ..decoding_options import (
    Drawing,
    as_one,
    chosen_length_penalty,
    hypotheses_asked_for,
    tell_long_lines,
    tell_published,
    tell_slower,
    tell_unended,
)
from ..options import option, with_groups
from ..placing import Placing
from ..reporting import tell_bad_lines
from ..streams import answered, chunk_size, input_lines, numbered_chunks, rows_to

NAME = "translate"
LINES = "lines to translate come by --input {path}, or on standard input, < {path}"


@with_groups
def command(
    folders: options.SomeFolders = None,
    source: Annotated[Path | None, option("--input", "Translate this file, else standard input.")] = None,
    output: Annotated[Path | None, option("--output", "Write here, else to standard output.")] = None,
    beam: decoding_options.Beam = 1,
    length_penalty: decoding_options.LengthPenalty = None,
    coverage_penalty: decoding_options.CoveragePenalty = 0.0,
    n_best: decoding_options.NBest = None,
    scores: decoding_options.Scores = False,
    as_published: decoding_options.AsPublished = False,
    *,
    drawing: Drawing,
    corpus: corpora.Corpora,
    placing: Placing,
    prefix_file: Annotated[Path | None, option("--prefix-file", "What each translation begins with, line by line.")] = None,
    too_long: decoding_options.TooLong = "cut",
    bad_lines: options.BadLines = "stop",
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: decoding_options.DecodingDtype = "float32",
    max_steps: decoding_options.MaxSteps = None,
    max_ratio: Annotated[
        float | None, option("--max-ratio", "Longest translation: R times the source's tokens, plus 10.")
    ] = None,
    batch_size: decoding_options.BatchSize = 64,
    invariant: Annotated[
        bool, option("--invariant", "Translate each line by itself: its bits depend on no other. Slower: docs/INVARIANCE.md.")
    ] = False,
    replace_unknown: decoding_options.ReplaceUnknown = False,
    attention: Annotated[
        Path | None,
        option(
            "--attention",
            "Draw attention heatmaps: .png, .svg (one file per line: FILE, FILE-2, ...) or .html; .jsonl for programs.",
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Translate standard input (or --input FILE), line by line, to standard output (or --output FILE); or --data in shards."""
    from ...data import BadLines
    from ...decoding.beam_search import check_search
    from ...decoding.coverage_penalty import check_coverage_penalty
    from ...errors import ConfigError
    from ...figures.attention_files import attention_file, check_attention_path
    from ...files.whole_file import check_result_file
    from ...inference.line_answers import Search
    from ...inference.translation import Translator
    from ...registry import requested_name

    alone = {"input": source, "output": output, "prefix-file": prefix_file, "attention": attention}
    corpus.check(placing, alone)
    if corpus.collect is not None:
        if folders:
            raise ConfigError(f"--collect must be given without a checkpoint folder, got {folders[0]}.")
        return corpora.collect(corpus.collect, output, force)
    if not folders:
        raise typer.BadParameter("a checkpoint folder was expected, got none.", param_hint="DIR...")
    seen = BadLines(bad_lines)
    check_attention_path(attention, force, never=(*folders, source, output, prefix_file))
    check_result_file(output, force, never=(*folders, source, prefix_file))
    if attention is not None and len(folders) > 1:
        raise ConfigError(f"--attention must be given with one DIR, got {len(folders)}.")
    kept = hypotheses_asked_for(n_best, scores)
    sampling = drawing.sampling(beam, kept is not None)
    penalty = chosen_length_penalty(length_penalty, beam, kept is not None, coverage_penalty, drawing.sample)
    check_search(beam, penalty, kept or 1)
    check_coverage_penalty(coverage_penalty)
    search = Search(beam, penalty, kept, coverage_penalty, sampling, max_ratio, as_published)
    loading: dict[str, Any] = {"backend": requested_name(backend), "device": device, "dtype": dtype}
    loading |= {"batch_size": 1 if invariant else batch_size}
    loading |= {"max_steps": max_steps, "too_long": too_long, "replace_unknown": replace_unknown}
    translator = Translator.load(as_one(folders, LINES), **loading)
    tell_slower(translator.backend, dtype)
    if corpus.wanted:
        from ...corpora.shard import Task

        del translator  # which has shown, before anything else, that the folders and the options can be
        return corpora.translate_corpus(corpus, placing, Task(tuple(folders), loading, search, bad_lines))
    tell_long_lines(translator)
    tell_published(translator, as_published)
    count = 0
    with attention_file(attention, translator) as write_attention, rows_to(output) as write:

        def answer(first: int, chunk: list[tuple[str, str | None]]) -> list[str]:
            nonlocal count
            lines, prefixes = zip(*chunk, strict=True)
            rows, texts = search.answer(translator, lines, None if prefix_file is None else prefixes, first)
            write_attention(lines, texts)
            count += len(lines)
            return rows

        chunks = numbered_chunks((line for _, line in input_lines(source, seen)), chunk_size(source))
        answered(answer, with_prefixes(prefix_file, tell_pairs(chunks)), write)
    tell_bad_lines(seen)
    tell_unended(translator, count)


def tell_pairs(chunks: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """A warning at the first line with a tab, which a file of sentence pairs has in each."""
    told = False
    for first, lines in chunks:
        tabs = [number for number, line in enumerate(lines, start=first) if "\t" in line]
        if tabs and not told:
            told = True
            tell(
                f"Warning: Line {tabs[0]} has a tab, and is translated as a whole. Of a file of pairs, SOURCE TAB TARGET, "
                "cut -f1 gives the sources, and transformer-mb evaluate reads both."
            )
        yield first, lines


def with_prefixes(
    path: Path | None, chunks: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """The chunks' lines with their prefixes, None without a file; raises DataError where they are not as many."""
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
        yield first, list(zip_longest(lines, taken))
    if next(texts, None) is not None:
        raise DataError(f"{path} must have one line per line of standard input, got more than {count}.")
