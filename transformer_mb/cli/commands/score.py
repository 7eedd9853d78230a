"""``transformer-mb score``: how probable given translations are, one line per pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .. import decoding_options, options
from ..decoding_options import as_one
from ..reporting import tell, tell_bad_lines, write_rows
from ..streams import CHUNK, STANDARD_INPUT, answered, chunk_size, numbered_chunks, standard_input

if TYPE_CHECKING:
    from ...inference.scoring import PairScore
    from ...inference.translation import Translator

NAME = "score"
PAIRS = "sentence pairs come by --data {path}, or on standard input, < {path}"


def command(
    folders: options.Folders,
    data: options.OptionalData = None,
    target: options.Target = None,
    columns: options.Columns = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Each token's log-probability too, and the tokens.")] = False,
    too_long: decoding_options.TooLong = "cut",
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: options.Dtype = "float32",
    batch_size: decoding_options.BatchSize = 64,
) -> None:
    """Print the log-probability of each pair's target given its source, and its mean per token: of --data, else of standard
    input, SOURCE TAB TARGET.
    """
    from ...data.bad_lines import BadLines
    from ...data.lines import numbered_lines
    from ...data.readers import each_pair, each_parallel_pair
    from ...errors import ConfigError
    from ...inference.translation import Translator

    if target is not None and data is None:
        raise ConfigError(f"--target must be given with --data, which holds the sources, got {target} alone.")
    translator = Translator.load(as_one(folders, PAIRS), backend, device, dtype, batch_size=batch_size, too_long=too_long)
    found, chosen = BadLines(remedy=""), options.columns_of(columns)
    if data is None:
        pairs, size = each_pair(standard_input(found), STANDARD_INPUT, chosen, found), chunk_size()
    elif target is None:
        pairs, size = each_pair(numbered_lines(data), str(data), chosen, found), CHUNK
    else:
        pairs, size = each_parallel_pair(data, target), CHUNK

    def answer(first: int, chunk: list[tuple[str, str]]) -> Iterator[str]:
        tell_long_pairs(translator, chunk, first)
        return (described(score, tokens) for score in translator.score(chunk, first=first))

    answered(answer, numbered_chunks(pairs, size), write_rows)
    tell_bad_lines(found)


def tell_long_pairs(translator: Translator, pairs: Sequence[tuple[str, str]], first: int) -> None:
    """A warning for each pair that ``--too-long`` cuts or skips."""
    done = {"cut": "only its first {} are scored", "skip": "it was skipped and its score is nan"}.get(translator.too_long)
    if done is None:
        return
    sources, targets = (translator.source_vocabulary, translator.target_vocabulary)
    for number, (source, target) in enumerate(pairs, start=first):
        count = max(len(sources.encode(source)), len(targets.encode(target)))
        if count > translator.longest:
            limit = translator.longest
            tell(f"Warning: Pair {number} has a side of {count} tokens and the model takes {limit}: {done.format(limit)}.")


def described(score: PairScore, tokens: bool) -> str:
    row = f"{score.log_probability:.6f}\t{score.per_token:.6f}"
    if not tokens:
        return row
    return f"{row}\t{' '.join(f'{one:.6f}' for one in score.log_probabilities)}\t{' '.join(score.tokens)}"
