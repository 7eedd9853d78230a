"""Vocabularies of words from files: one token a line, as JoeyNMT, OpenNMT and fairseq write them, or a checkpoint's JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike, fspath, stat
from typing import Any

from ..errors import ConfigError, DataError
from ..files.regular import LARGEST, read_regular_text
from .columns import excerpt
from .lines import numbered_lines
from .text import TextPipeline, text_pipeline
from .vocabulary import SPECIAL_TOKENS, Vocabulary

# What the special tokens are called in such files; our own name first.
NAMES = {
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]", "<blank>"),
    "bos": ("<bos>", "<s>", "[BOS]"),
    "eos": ("<eos>", "</s>", "[EOS]"),
}
COUNT = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
Vocabularies = tuple[Vocabulary, Vocabulary]


def read_vocabulary_file(path: str | PathLike[str], pipeline: str) -> Vocabulary:
    """The tokens in the order of their lines, after the special ones, which may stand anywhere in it or nowhere.

    A number after a tab or a space is a count, which is not used. ``.json`` is what a checkpoint holds. Raises DataError,
    naming the file and the line; ConfigError for a pipeline other than that of a .json.
    """
    name = fspath(path)
    if name.endswith(".json"):
        return _from_json(name, pipeline)
    _check_size(name)
    splitting = text_pipeline(pipeline)
    lines: dict[str, int] = {}
    blank = 0
    for number, line in numbered_lines(name):
        token = _token(line)
        if not token:
            blank = blank or number
            continue
        if blank:
            raise DataError(f"{name}, line {blank}, must hold a token, but it is blank.")
        if (before := lines.setdefault(token, number)) != number:
            raise DataError(
                f"{name}, line {number}: the token {excerpt(token)} must stand once, but it is in line {before} too."
            )
    special = {role: next((one for one in names if one in lines), names[0]) for role, names in NAMES.items()}
    words = [token for token in lines if token not in special.values()]
    if not words:
        raise DataError(f"{name} must hold a token on each line, but it holds none.")
    for token in words:
        _check_token(token, splitting, f"{name}, line {lines[token]}")
    return Vocabulary([*special.values(), *words], splitting, {role: number for number, role in enumerate(SPECIAL_TOKENS)})


def read_vocabulary_files(data: Mapping[str, Any], pipeline: str) -> Vocabularies | None:
    """Read the files that ``[data]`` names: ``vocabulary`` for both sides, or beside a ``target_vocabulary``."""
    source, target = data.get("vocabulary"), data.get("target_vocabulary")
    if source is None and target is None:
        return None
    if source is None:
        raise ConfigError(f"target_vocabulary needs vocabulary, the source's (--vocabulary), got {target} alone.")
    if data.get("tokenizer"):
        raise ConfigError(f"A vocabulary is of words, and a tokenizer of subwords: one of both must be left out, got {source}.")
    first = read_vocabulary_file(source, pipeline)
    return first, (first if target is None else read_vocabulary_file(target, pipeline))


def _token(line: str) -> str:
    """Return the token before a count; a line of one space is the token of a space among characters."""
    token, _, count = line.rpartition("\t" if "\t" in line else " ")
    return token if token and COUNT.fullmatch(count) else line if line == " " else line.strip("\r\n")


def _check_token(token: str, pipeline: TextPipeline, place: str) -> None:
    if "\0" in token or (made := pipeline.encode(token)) != [token]:
        what = "it holds a NUL character" if "\0" in token else f"the pipeline {pipeline.name} makes {made!r:.80} of it"
        remedy = "" if "\0" in token else ": pipeline (--pipeline words) names another"
        if pipeline.name != "characters" and len(token.split()) > 1:
            remedy = ": a line must hold one token, which its count may follow"
        raise DataError(f"{place}: {excerpt(token)} must be a token of a text, but {what}{remedy}.")


def _check_size(name: str) -> None:
    try:
        size = stat(name).st_size
    except OSError:
        return  # reading it says why
    if size > LARGEST["vocabulary"]:
        raise DataError(f"{name} must have at most {LARGEST['vocabulary']:,} bytes to be a vocabulary, got {size:,}.")


def _from_json(name: str, pipeline: str) -> Vocabulary:
    try:
        vocabulary = Vocabulary.from_json(read_regular_text(name, "vocabulary"))
    except OSError as error:
        raise DataError(f"The vocabulary {name} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name} must be UTF-8 text, but byte {error.start} is not: {error.reason}.") from None
    except DataError as error:
        other = "A file of one token a line has a name that does not end in .json."
        raise DataError(f"{name} holds no vocabulary of words. {error} {other}") from None
    if vocabulary.pipeline.name != pipeline:
        theirs = vocabulary.pipeline.name
        raise ConfigError(f"The pipeline must be {theirs}, with which {name} was made (--pipeline {theirs}), got {pipeline}.")
    return vocabulary
