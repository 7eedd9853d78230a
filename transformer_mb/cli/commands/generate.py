"""``transformer-mb generate``: what a decoder alone continues standard input with, one line per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from .. import decoding_options, options
from ..decoding_options import Drawing, chosen_length_penalty, hypotheses_asked_for, tell_published, tell_slower
from ..options import option, with_groups
from ..reporting import write_rows
from ..streams import answered, chunk_size, numbered_chunks, standard_input

NAME = "generate"


@with_groups
def command(
    folder: options.Folder,
    ids: Annotated[bool, option("--ids", "Prompts are token ids with spaces between, and so is what follows.")] = False,
    beam: decoding_options.Beam = 1,
    length_penalty: decoding_options.LengthPenalty = None,
    n_best: decoding_options.NBest = None,
    scores: decoding_options.Scores = False,
    as_published: decoding_options.AsPublished = False,
    *,
    drawing: Drawing,
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: decoding_options.DecodingDtype = "float32",
    max_steps: Annotated[
        int | None, option("--max-steps", "The most tokens that follow a prompt. [default: 100]", min=1)
    ] = None,
    batch_size: decoding_options.BatchSize = 64,
) -> None:
    """Continue standard input, line by line, with a model of architecture decoder; print what follows each line."""
    from ...decoding.beam_search import check_search
    from ...errors import ConfigError
    from ...inference.generation import Generator
    from ...inference.line_answers import scored_row

    kept = hypotheses_asked_for(n_best, scores)
    sampling = drawing.sampling(beam, kept is not None)
    penalty = chosen_length_penalty(length_penalty, beam, scores=kept is not None, sample=drawing.sample)
    check_search(beam, penalty, kept or 1)
    if as_published and kept is not None:
        raise ConfigError("--as-published must be given without --n-best and --scores, got both.")
    generator = Generator.load(folder, backend, device, dtype, batch_size=batch_size, max_steps=max_steps)
    tell_slower(generator.backend, dtype)
    tell_published(generator, as_published)
    prompts: Iterator[Any] = numbered_ids() if ids else (line for _, line in standard_input())
    written = (lambda found: " ".join(map(str, found))) if ids else generator.text

    def answer(first: int, chunk: list[Any]) -> Iterator[str]:
        if kept is None:
            found = generator.generate(chunk, beam, penalty, sample=sampling, as_published=as_published, first=first - 1)
            yield from map(written, found) if ids else found
            return
        for number, hypotheses in enumerate(generator.hypotheses(chunk, beam, kept, penalty, first=first - 1), start=first):
            for one in hypotheses:
                yield scored_row(number, one, written(one.ids))

    answered(answer, numbered_chunks(prompts, chunk_size()), write_rows)


def numbered_ids() -> Iterator[list[int]]:
    from ...errors import DataError

    for number, line in standard_input():
        words = line.split()
        if not words or not all(word.isdecimal() for word in words):
            raise DataError(f"Line {number} must hold token ids with spaces between, such as 2 5 9, got {line!r:.60}.")
        yield [int(word) for word in words]
