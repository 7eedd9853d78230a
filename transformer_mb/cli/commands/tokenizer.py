"""``transformer-mb tokenizer train``: subword vocabularies from a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...printable import counted
from .. import options
from ..arguments import Command
from ..options import option
from ..reporting import guarded, tell_bad_lines

NAME = "tokenizer"
app = typer.Typer(help="Train subword vocabularies.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _tokenizer() -> None:
    """Train subword vocabularies."""


def train(
    data: options.Data,
    out: Annotated[
        Path, option("--out", "A folder for source.json and target.json, or shared.json.", parser=options.named_path)
    ],
    target: options.Target = None,
    fields: options.Fields = None,
    columns: options.Columns = None,
    bad_lines: options.BadLines = "stop",
    num_examples: options.NumExamples = None,
    vocab_size: Annotated[int, option("--vocab-size", "Tokens of each vocabulary, from 260 on.")] = 8000,
    model: Annotated[str, option("--model", "How text is cut into subwords.", metavar="bpe|unigram")] = "bpe",
    shared: Annotated[bool, option("--shared", "One vocabulary for both sides.")] = False,
    force: options.Force = False,
) -> None:
    """Train subword vocabularies on sentence pairs, for `train --tokenizer`: of bytes, so that no text loses anything."""
    from ...data.bad_lines import BadLines
    from ...data.readers import iterate_pairs
    from ...data.subword_training import train_subwords
    from ...errors import DestinationError
    from ...files.whole_file import check_result_file, write_whole

    sides = {"shared": slice(2)} if shared else {"source": slice(1), "target": slice(1, 2)}
    for name in ("shared", "source", "target"):
        if name not in sides and (out / f"{name}.json").exists():
            raise DestinationError(f"{out} must hold shared.json, or source.json and target.json, but {name}.json is there.")
    for name in sides:
        check_result_file(out / f"{name}.json", force, never=(data, target))
    how = {"fields": fields.split(",") if fields else None, "columns": options.columns_of(columns)}
    for name, side in sides.items():
        found = BadLines(bad_lines)
        pairs = iterate_pairs(data, target, num_examples=num_examples, **how, bad_lines=found)
        vocabulary = train_subwords((text for pair in pairs for text in pair[side]), vocab_size, model)
        write_whole(out / f"{name}.json", vocabulary.content.decode())
        print(f"{out / f'{name}.json'}: {counted(len(vocabulary), 'token')}")
    tell_bad_lines(found)


app.command("train", cls=Command)(guarded(train))
