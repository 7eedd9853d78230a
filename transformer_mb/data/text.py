"""Named pipelines from text to tokens and back, so that a checkpoint can say which one its model learned with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import DataError

PUNCTUATION = re.compile(r"(?<=[^ ])[,.!?]")  # after the first character, which has nothing before it to be parted from
# The book splits its file at tabs and line breaks, so that none reaches a sentence. In other text they part words.
LINE_LAYOUT = str.maketrans("\t\n\r", "   ")


@dataclass(frozen=True)
class TextPipeline:
    """A way from text to tokens, and from tokens to text that encodes to them again; checkpoints store ``name``."""

    name: str
    description: str
    split: Callable[[str], list[str]]
    detokenize: Callable[[Iterable[str]], str] = " ".join

    def encode(self, text: str) -> list[str]:
        """The tokens of one sentence; runs of spaces part them as one space does."""
        return [token for token in self.split(text) if token]


def preprocess_nmt(text: str) -> str:
    """D2L 9.5.1: no-break spaces become spaces, lower case, and ``, . ! ?`` get a space before them."""
    return PUNCTUATION.sub(r" \g<0>", text.replace("\u202f", " ").replace("\xa0", " ").lower())


def tokenize(text: str) -> list[str]:
    """D2L 9.5.2: split at every single space, so that two in a row give an empty token as in the book's code."""
    return text.split(" ")


def _d2l(text: str) -> list[str]:
    return tokenize(preprocess_nmt(text.translate(LINE_LAYOUT)))


TEXT_PIPELINES = {
    pipeline.name: pipeline
    for pipeline in (
        TextPipeline("d2l", "the book's English-French preprocessing: lower case, a space before , . ! ?", _d2l),
        TextPipeline("words", "already tokenized text: split at white space, case kept", str.split),
        TextPipeline("characters", "every character a token", list, "".join),
    )
}


def text_pipeline(name: str) -> TextPipeline:
    """The pipeline of that name; raises DataError that lists them."""
    if name not in TEXT_PIPELINES:
        raise DataError(f"The text pipeline must be one of {', '.join(TEXT_PIPELINES)}, got {name!r}.")
    return TEXT_PIPELINES[name]
