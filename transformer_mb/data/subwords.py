"""Vocabularies of subwords: Hugging Face ``tokenizers`` (BPE, unigram) and SentencePiece models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files.regular import LARGEST, read_regular_file
from .padding import Frame
from .subword_models import SENTINEL, read_sentencepiece, read_tokenizers
from .text import TextPipeline
from .vocabulary import FRAME, SILENT, SPELLED, TIDY, Vocabulary, read_fields

# How a tokenizer's file ends by the kind of it; the first ending is the one that we write.
SUFFIXES = {"tokenizers": (".json",), "sentencepiece": (".model", ".spm")}
BOTH = ("source", "target")
# What transformers calls cleaning up a text: one after another, each wherever it occurs.
TIDIED = {
    **{f" {mark}": mark for mark in ".?!,"},
    " ' ": "'",
    **{f" {end}": end for end in ("n't", "'m", "'s", "'ve", "'re")},
}
OF_WORDS = "A vocabulary of words is given as vocabulary (--vocabulary FILE, --target-vocabulary FILE)."


class SubwordVocabulary(Vocabulary):
    """Subwords by id, and the tokenizer that makes them of raw text and text of them.

    What ``transformer-mb tokenizer train`` makes is of bytes and loses nothing: ``decode(encode(text)) == text`` for any
    Unicode text. A SentencePiece model, or another tokenizer.json, normalizes text as it was trained to, which may lose
    something: runs of spaces, wide forms of letters, characters that it does not know. A special token's name inside a text is
    text, but a sentinel's (``<extra_id_0>``) is that token. Ids that are together no UTF-8 decode to U+FFFD.

    Args:
        kind: ``tokenizers`` (a tokenizer.json) or ``sentencepiece`` (a .model).
        content: the file.
        entries: tokens by id; None: as the tokenizer numbers them. Only those of ``sentencepiece`` may be others.
        special: as in Vocabulary; None: by their usual names, such as <pad> and </s>. frame: as in Vocabulary.
        tidy: decoded texts lose the spaces before punctuation and English contractions (``TIDIED``).
        spelled: tokens, beside sentinels, whose name inside a text is that token. silent: those that decoded texts leave out,
            beside what a tokenizer.json calls special.
    Attributes:
        unspelled: special tokens without a role that no text spells.
    Raises:
        DataError: naming what is wrong, or the package that is not installed.
    """

    def __init__(
        self,
        kind: str,
        content: bytes,
        entries: Sequence[str] | None = None,
        special: Mapping[str, int] | None = None,
        frame: Frame | None = None,
        tidy: bool = False,
        spelled: Sequence[str] = (),
        silent: Sequence[str] = (),
    ):
        if kind not in SUFFIXES:
            raise DataError(f"The kind of a tokenizer must be one of {', '.join(SUFFIXES)}, got {kind!r}.")
        self.kind, self.tidy, self.spelled, self.silent = kind, tidy, tuple(spelled), tuple(silent)
        content = bytes(content)
        if kind == "sentencepiece":
            model = read_sentencepiece(content, None if entries is None else tuple(entries), self.spelled)
        else:
            model = read_tokenizers(content, entries, special, self.spelled)
        self.content = model.content
        if entries is not None and tuple(entries) != model.entries:
            raise DataError("The tokens of a vocabulary must be those of its tokenizer, got others.")
        pipeline = TextPipeline(kind, f"subwords of {kind}", model.split, model.join)
        super().__init__(model.entries, pipeline, model.special if special is None else special, frame)
        if wrong := [name for name in (*self.spelled, *self.silent) if name not in self._id_in_text]:
            what = "What a text spells or leaves out"
            raise DataError(f"{what} must be tokens of the vocabulary without a role, got {wrong[0]!r:.60}.")
        roles = {*self.special.values(), *self.opening, *self.closing}
        self._silent = {*roles, *self.ids([*model.silent, *self.silent])}
        unnamed = self.tokens(sorted(self._silent - roles - {*self.ids(self.spelled)}))
        self.unspelled = tuple(token for token in unnamed if not SENTINEL.fullmatch(token))

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> SubwordVocabulary:
        """A tokenizer.json, or a SentencePiece .model; raises DataError."""
        name = fspath(path)
        kinds = [kind for kind, suffixes in SUFFIXES.items() if name.endswith(suffixes)]
        if not kinds and not Path(name).exists():
            raise DataError(f"The tokenizer must be a file or a folder, but there is no {name}.")
        if not kinds:
            endings = " or ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
            raise DataError(f"The name of a tokenizer must end in {endings}, got {name}. {OF_WORDS}")
        try:
            content = read_regular_file(name, LARGEST["vocabulary"])
        except OSError as error:
            raise DataError(f"The tokenizer {name} cannot be read: {error.strerror or error}.") from None
        try:
            return cls(kinds[0], bytes(content))
        except DataError as error:
            of_words = f" {OF_WORDS}" if _is_of_words(bytes(content)) else ""
            raise DataError(f"The tokenizer {name} cannot be used. {error}{of_words}") from None

    @property
    def suffix(self) -> str:
        """The end of the name of the tokenizer's file."""
        return SUFFIXES[self.kind][0]

    def normalized(self, text: str) -> str:
        """The text itself: translations of raw text are compared with raw text."""
        return text

    def pieces(self, text: str) -> list[str]:
        """The subwords of a text; raises DataError for half of a surrogate pair, which is no text."""
        try:
            if isinstance(text, str):
                text.encode("utf-8")
                return super().pieces(text)
        except UnicodeEncodeError:
            pass
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in Rust is no Exception
            raise DataError(f"The tokenizer cannot make tokens of {text!r:.80}: {error!s:.200}.") from None
        got = repr(text) if isinstance(text, str) else type(text).__name__
        raise DataError(f"A text must be a str of Unicode characters, got {got:.80}.")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; the special tokens are left out."""
        tokens = self.tokens(number for number in ids if number not in self._silent)
        try:
            text = self.pipeline.detokenize(tokens)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise DataError(f"The tokenizer cannot make text of {' '.join(tokens):.80}: {error!s:.200}.") from None
        for spaced, close in TIDIED.items() if self.tidy else ():
            text = text.replace(spaced, close)
        return text

    def _fields(self) -> dict[str, Any]:
        more: dict[str, Any] = {TIDY: self.tidy, SPELLED: list(self.spelled), SILENT: list(self.silent)}
        own = {name: value for name, value in more.items() if value}
        return {**super()._fields(), "tokenizer": hashlib.sha256(self.content).hexdigest(), **own}


def vocabulary_of(text: str, read: Callable[[str], bytes]) -> Vocabulary:
    """A vocabulary of either kind from its JSON; ``read`` gives the tokenizer's file, whose name ends as said. DataError."""
    try:
        kind = json.loads(text)["pipeline"]
    except (ValueError, RecursionError, TypeError, KeyError):
        kind = None  # the next line says what is wrong
    if not isinstance(kind, str) or kind not in SUFFIXES:
        return Vocabulary.from_json(text)
    fields, content = read_fields(text, "tokenizer"), read(SUFFIXES[kind][0])
    if (found := hashlib.sha256(content).hexdigest()) != fields["tokenizer"]:
        raise DataError(f"Its tokenizer must be the file with the SHA-256 {fields['tokenizer']:.64}, got one with {found}.")
    lists = {name: fields.get(name, []) for name in (SPELLED, SILENT)}
    for name, tokens in lists.items():
        if not isinstance(tokens, list) or not all(isinstance(one, str) and one for one in tokens):
            raise DataError(f"The vocabulary's {name} must be a list of tokens, got {tokens!r:.60}.")
    more = {"tidy": fields.get(TIDY) is True, **lists}
    return SubwordVocabulary(kind, content, fields["tokens"], fields["special"], fields.get(FRAME), **more)


def read_tokenizers_of(path: str | PathLike[str]) -> tuple[SubwordVocabulary, SubwordVocabulary]:
    """Source's and target's: a file for both, or a folder with ``shared``, or ``source`` and ``target``, .json or .model.

    A checkpoint of subwords is such a folder too. Raises DataError.
    """
    place = Path(path)
    if not place.is_dir():
        shared = SubwordVocabulary.from_file(path)
        return shared, shared
    found = {name: _in_folder(place, name) or _in_folder(place, f"{name}_tokenizer") for name in ("shared", *BOTH)}
    if (found["shared"] is None) == (found["source"] is None) or (found["source"] is None) != (found["target"] is None):
        there = ", ".join(file.name for file in found.values() if file) or "none of them"
        words = [place / f"{name}_vocabulary.json" for name in BOTH]
        of_words = ""
        if there == "none of them" and all(file.is_file() for file in words):
            of_words = f" It has vocabularies of words: --vocabulary {words[0]} --target-vocabulary {words[1]} takes them."
        raise DataError(f"{place} must hold shared.json, or source.json and target.json (or .model), got {there}.{of_words}")
    if found["shared"]:
        return read_tokenizers_of(found["shared"])
    source, target = (SubwordVocabulary.from_file(file) for name in BOTH if (file := found[name]))
    return source, target


def _is_of_words(content: bytes) -> bool:
    """Tell whether a file is a checkpoint's vocabulary of words."""
    try:
        return read_fields(content.decode())["pipeline"] not in SUFFIXES
    except (DataError, UnicodeDecodeError):
        return False


def _in_folder(folder: Path, name: str) -> Path | None:
    places = (folder / f"{name}{suffix}" for suffixes in SUFFIXES.values() for suffix in suffixes)
    return next((place for place in places if place.is_file()), None)
