"""``transformer-mb score``: how probable given translations are, one line per pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ...reports.output import tell
from .. import decoding_options, options
from ..decoding_options import as_one
from ..options import option
from ..reporting import tell_bad_lines, write_rows
from ..streams import CHUNK, STANDARD_INPUT, answered, chunk_size, numbered_chunks, standard_input

if TYPE_CHECKING:
    from ...inference.scoring import PairScore

NAME = "score"
DONE = {"cut": "only its first {} are scored", "skip": "it was skipped and its score is nan"}
PAIRS = "sentence pairs come by --data {path}, or on standard input, < {path}"


def command(
    folders: options.Folders,
    data: options.OptionalData = None,
    target: options.Target = None,
    columns: options.Columns = None,
    tokens: Annotated[bool, option("--tokens", "Each token's log-probability too, and the tokens.")] = False,
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

    def on_long(number: int, count: int) -> None:
        if done := DONE.get(too_long):
            limit = translator.longest
            tell(f"Warning: Pair {number} has a side of {count} tokens and the model takes {limit}: {done.format(limit)}.")

    def answer(first: int, chunk: list[tuple[str, str]]) -> Iterator[str]:
        return (score_row(score, tokens) for score in translator.score(chunk, first))

    translator.on_long = on_long
    answered(answer, numbered_chunks(pairs, size), write_rows)
    tell_bad_lines(found)


def score_row(score: PairScore, tokens: bool) -> str:
    row = f"{score.log_probability:.6f}\t{score.per_token:.6f}"
    if not tokens:
        return row
    return f"{row}\t{' '.join(f'{one:.6f}' for one in score.log_probabilities)}\t{' '.join(score.tokens)}"
