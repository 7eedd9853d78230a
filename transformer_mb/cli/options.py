"""Options that several commands share, so that they are the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def named_path(text: str) -> Path:
    """A path as it was given; the empty one would be this folder."""
    if not text:
        raise typer.BadParameter("a path was expected, got ''.")
    return Path(text)


Backend = Annotated[
    str | None, typer.Option("--backend", help="Framework; else TRANSFORMER_MB_BACKEND, else numpy.", show_default=False)
]
Device = Annotated[
    str | None, typer.Option("--device", help="As the framework names it; else its default.", show_default=False)
]
Dtype = Annotated[str, typer.Option("--dtype", help="Of weights and activations.")]
DecodingDtype = Annotated[
    str, typer.Option("--dtype", help="Of weights and activations; int8: products of whole numbers, in torch on the CPU.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the results here as JSON.", show_default=False)]
Beam = Annotated[int, typer.Option("--beam", min=1, help="Hypotheses of the beam search; 1 decodes greedily.")]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        "--length-penalty",
        min=0.0,
        help="Of the beam search: 0 is none, more (to 10) favors longer translations. [default: 0.6]",
        show_default=False,
    ),
]
CoveragePenalty = Annotated[
    float,
    typer.Option("--coverage-penalty", min=0.0, help="Of the beam search: more favors translations of the whole source."),
]
NBest = Annotated[
    int | None,
    typer.Option("--n-best", min=1, help="Print the N best of the beam, as --scores does.", show_default=False),
]
Scores = Annotated[bool, typer.Option("--scores", help="Print LINE, SCORE, LOG-PROBABILITY and the text with tabs between.")]
Sample = Annotated[bool, typer.Option("--sample", help="Draw each token by its probability, instead of a search.")]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", help="Of --sample: below 1 the probable become more so. [default: 1]", show_default=False),
]
TopK = Annotated[
    int | None, typer.Option("--top-k", min=1, help="Of --sample: draw from the K most probable tokens.", show_default=False)
]
TopP = Annotated[
    float | None,
    typer.Option("--top-p", help="Of --sample: draw from the fewest tokens that have a share P.", show_default=False),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Of --sample. [default: 0]", show_default=False)]
TooLong = Annotated[
    str,
    typer.Option(
        "--too-long", metavar="cut|skip|stop", help="Of a line with more tokens than the model takes: cut or skip it, or stop."
    ),
]
BadLines = Annotated[
    str,
    typer.Option(
        "--bad-lines", metavar="stop|drop", help="At a line that is no UTF-8 or has a NUL character: stop, or leave it out."
    ),
]
MaxSteps = Annotated[
    int | None,
    typer.Option("--max-steps", min=1, help="Longest translation; else twice the source and more.", show_default=False),
]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Sentences decoded together.")]
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
NumExamples = Annotated[
    int | None, typer.Option("--num-examples", min=1, help="Read only the first N lines.", show_default=False)
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A checkpoint folder.", show_default=False)]
