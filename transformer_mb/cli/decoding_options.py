"""The options of the commands that decode, what they come to, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..machine.processor import slowed_down
from ..reports.output import tell
from .options import option

if TYPE_CHECKING:
    from ..backend import Backend
    from ..decoding.sampling import Sampling
    from ..inference.generation import Generator
    from ..inference.translation import Translator

Beam = Annotated[int, option("--beam", "Hypotheses of the beam search, to 1000; 1 decodes greedily.", min=1)]
LengthPenalty = Annotated[
    float | None,
    option(
        "--length-penalty", "Of the beam search: 0 is none, more (to 10) favors longer translations. [default: 0.6]", min=0.0
    ),
]
CoveragePenalty = Annotated[
    float, option("--coverage-penalty", "Of the beam search: more favors translations of the whole source.", min=0.0)
]
NBest = Annotated[int | None, option("--n-best", "Print the N best of the beam, at most --beam, as --scores does.", min=1)]
Scores = Annotated[bool, option("--scores", "Print LINE, SCORE, LOG-PROBABILITY and the text with tabs between.")]
TooLong = Annotated[
    str,
    option("--too-long", "Of a line with more tokens than the model takes: cut or skip it, or stop.", metavar="cut|skip|stop"),
]
MaxSteps = Annotated[int | None, option("--max-steps", "Longest translation, to max_len; else twice the source + 10.", min=1)]
AsPublished = Annotated[
    bool, option("--as-published", "Decode by DIR's generation_config.json, as transformers' generate does.")
]
ReplaceUnknown = Annotated[
    bool, option("--replace-unknown", "An <unk> becomes the word of the source that it attended to most.")
]
BatchSize = Annotated[int, option("--batch-size", "Sentences decoded together.", min=1)]
DecodingDtype = Annotated[
    str, option("--dtype", "Of weights and activations; int8: products of whole numbers (torch on the CPU; NumPy imitates it).")
]

# What becomes of a line with more tokens than a model has positions, by ``--too-long``.
DONE = {"cut": "only the first {longest} were translated", "skip": "it was skipped and its output is an empty line"}


@dataclass(frozen=True)
class Drawing:
    """The options of drawn tokens."""

    sample: Annotated[bool, option("--sample", "Draw each token by its probability, instead of a search.")] = False
    temperature: Annotated[
        float | None, option("--temperature", "Of --sample: below 1 the probable become more so. [default: 1]")
    ] = None
    top_k: Annotated[int | None, option("--top-k", "Of --sample: draw from the K likeliest tokens, at most all.", min=1)] = None
    top_p: Annotated[float | None, option("--top-p", "Of --sample: draw from the fewest tokens that have a share P.")] = None
    seed: Annotated[int | None, option("--seed", "Of --sample. [default: 0]", min=0)] = None

    def sampling(self, beam: int, scores: bool) -> Sampling | None:
        """Return the sampling that ``--sample`` asks for; raises ConfigError for what does not go together."""
        from ..decoding.sampling import Sampling
        from ..errors import ConfigError

        given = {name: value for name, value in vars(self).items() if value is not None and name != "sample"}
        if not self.sample:
            if given:
                named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise ConfigError(f"--sample must be given with {named}, got {named} alone.")
            return None
        if beam != 1 or scores:
            raise ConfigError(
                "--sample must be given without --beam, --n-best and --scores, which belong to a search, got both."
            )
        return Sampling(**given)


def chosen_length_penalty(
    given: float | None, beam: int, scores: bool = False, coverage: float = 0.0, sample: bool = False
) -> float:
    """The length penalty, by default Translator's; a warning where it or that of coverage is set and nothing is compared:
    by a greedy search without scores, or where tokens are drawn."""
    from ..decoding.beam_search import LENGTH_PENALTY

    useless = (given is not None) * ["--length-penalty"] + (coverage != 0) * ["--coverage-penalty"]
    how = "without --beam N: a greedy search compares no hypotheses"
    if sample:
        how = "with --sample: what is drawn is not compared"
    for name in useless if beam == 1 and not scores else ():
        tell(f"Warning: {name} changes nothing {how}.")
    return LENGTH_PENALTY if given is None else given


def hypotheses_asked_for(n_best: int | None, scores: bool) -> int | None:
    """Return how many of each line are printed with their scores; None where texts alone are."""
    return n_best or 1 if n_best or scores else None


def as_one(folders: Sequence[Path], text: str) -> Any:
    """The checkpoint folder, or several; ConfigError for a file, and ``text`` says how the command takes text."""
    from ..errors import ConfigError

    for path in folders:
        if path.is_file():
            raise ConfigError(f"DIR must be a checkpoint folder, got a file, {path}: {text.format(path=path)}.")
    return folders[0] if len(folders) == 1 else list(folders)


def tell_published(model: Translator | Generator, as_published: bool) -> None:
    """A note where a model brought how it is decoded, and is decoded otherwise."""
    if model.generation is not None and model.generation.to_dict() and not as_published:
        tell("Note: generation_config.json of the model says how its publishers decode: --as-published does so.")


def tell_slower(backend: Backend, dtype: str) -> None:
    """A note where a lower precision is slower here than float32, and how that is known."""
    if backend.hardware is None and (slowed := slowed_down(dtype)):
        tell(f"Note: {slowed}.")
    if dtype == "int8" and backend.imitates_int8:
        tell(f"Note: {backend.name} imitates int8 in floats, which takes longer than float32; torch multiplies whole numbers.")


def tell_unended(translator: Translator, lines: int) -> None:
    """A note where translations ended by their limit alone, unless the user set it."""
    if translator.unended and translator.max_steps is None:
        tell(
            f"Note: {translator.unended:,} of {lines:,} translations have no end: each stopped at the most tokens that its "
            "source allows (--max-ratio, --max-steps). A model that was trained little does so."
        )


def tell_long_lines(translator: Translator, numbers: Sequence[int] | None = None) -> None:
    """Warn of each line that ``--too-long`` cuts or skips. numbers: of the lines, else from 1."""

    def on_long(number: int, count: int) -> None:
        line = number if numbers is None else numbers[number - 1]
        if translator.too_long == "stop":
            raise translator.length_error(line, count)
        done = DONE[translator.too_long].format(longest=translator.longest)
        tell(f"Warning: Line {line} has {count} tokens and the model takes {translator.longest}: {done}.")

    translator.on_long = on_long
