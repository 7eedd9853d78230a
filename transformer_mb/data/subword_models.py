"""The two libraries that split text into subwords, behind one pair of functions: text to pieces, pieces to text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..errors import DataError
from ..extras import install_command
from .tokenizer_json import EXPECTED, amended, check_reading, spelling

SPACE = "\u2581"  # how SentencePiece writes a space
# What the four roles are called in tokenizers of the field; our own name first. A decoder may start with <pad>, and a
# vocabulary of all bytes needs no <unk>.
NAMES = {
    "unk": ("<unk>", "[UNK]", "<pad>", "[PAD]"),
    "pad": ("<pad>", "[PAD]"),
    "bos": ("<bos>", "<s>", "[BOS]", "[CLS]", "<pad>", "[PAD]"),
    "eos": ("<eos>", "</s>", "[EOS]", "[SEP]"),
}
# Protocol buffers merge parts that come twice, and of a value take the last: normalizer_spec { add_dummy_prefix: false }.
NO_PREFIX = bytes([3 << 3 | 2, 2, 3 << 3 | 0, 0])
SENTINEL, SENTINELS = re.compile(r"<extra_id_\d+>"), b"<extra_id_"  # of T5: a gap in a text, which its users write as such
LANGUAGE = re.compile(r">>[^<>]+<<")  # what MarianMT's models of several languages want at the beginning


@dataclass(frozen=True)
class SubwordModel:
    """A tokenizer's file, read.

    Attributes:
        entries: its tokens in the order of their ids; special: the ids of the roles ``unk``, ``pad``, ``bos``, ``eos``.
        split: text to pieces, which are entries or unknown. join: pieces to text; it never raises for entries.
        silent: entries that stand for no text, such as ``<mask>``.
        content: the file with what was added to it.
    """

    entries: tuple[str, ...]
    special: dict[str, int]
    split: Callable[[str], list[str]]
    join: Callable[[Iterable[str]], str]
    content: bytes
    silent: frozenset[str] = frozenset()


def library(name: str) -> Any:
    """A package of the extra ``text``; raises DataError where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise DataError(f"Subwords need the package {name}, which is not installed: {install_command('text')}.") from None


def read_tokenizers(
    content: bytes,
    wanted: Sequence[str] | None = None,
    roles: Mapping[str, int] | None = None,
    spelled: Sequence[str] = (),
) -> SubwordModel:
    """A tokenizer.json of Hugging Face ``tokenizers``. Raises DataError.

    Special tokens but sentinels and those ``spelled`` are not recognized inside a text; tokens for padding and for what is
    unknown are added where they are missing (``wanted``: only if they are of these), and dropout is off. ``roles``: the ids of
    the roles where something else says them.
    """
    tokenizers = library("tokenizers")
    try:
        content, unknown = amended(content, tokenizers.pre_tokenizers.ByteLevel.alphabet(), wanted)
    except RecursionError:
        raise DataError(f"{EXPECTED}: it is nested too deep.") from None
    check_reading("tokenizers", content)
    try:
        found, silent = spelling(content, SENTINEL, spelled) if spelled or SENTINELS in content else (content, [])
        tokenizer = tokenizers.Tokenizer.from_buffer(found)
        entries = [tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size())]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        raise DataError(f"{EXPECTED}: {error!s:.200}.") from None
    if None in entries:
        raise DataError(f"The ids of a tokenizer must be 0, 1, 2, ..., but no token has the id {entries.index(None)}.")
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()
    tokenizer.no_truncation()
    decoder = tokenizer.decoder
    special = dict(roles) if roles is not None else {role: _first(role, names, entries) for role, names in NAMES.items()}
    special |= {"unk": entries.index(unknown)} if unknown in entries and roles is None else {}

    def split(text: str) -> list[str]:
        return list(tokenizer.encode(text, add_special_tokens=False).tokens)

    def join(pieces: Iterable[str]) -> str:
        return " ".join(pieces) if decoder is None else decoder.decode(list(pieces))

    hidden = {*silent, *(token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special)}
    return SubwordModel(tuple(entries), special, split, join, content, frozenset(hidden))


def _first(role: str, names: tuple[str, ...], entries: list[str]) -> int:
    for name in names:
        with suppress(ValueError):
            return entries.index(name)
    raise DataError(f"A tokenizer must have a token for {role}, called {' or '.join(names)}, got none of them.")


def sentencepiece_pieces(content: bytes) -> tuple[Any, list[str]]:
    """The library's processor of a model, and its pieces by their ids. Raises DataError."""
    processor = library("sentencepiece").SentencePieceProcessor()
    check_reading("sentencepiece", content)
    try:
        processor.LoadFromSerializedProto(content)
        return processor, [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    except (RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"A SentencePiece model was expected, which the library does not find here: {error!s:.200}.") from None


def without_prefix(content: bytes) -> bytes:
    """Return a SentencePiece model that puts no space before a text, nor takes one from it."""
    return content + NO_PREFIX


def between(names: Iterable[str], split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Split what stands between these names in a text, each of which is a piece by itself; of two the longer one."""
    listed = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, listed)))

    def pieces(text: str) -> list[str]:
        found, start = [], 0
        for match in pattern.finditer(text):
            found += [*split(text[start : match.start()]), match[0]]
            start = match.end()
        return [*found, *split(text[start:])]

    return pieces if listed else split


def read_sentencepiece(content: bytes, entries: tuple[str, ...] | None = None, spelled: Sequence[str] = ()) -> SubwordModel:
    """A SentencePiece .model, with its own normalization. Raises DataError.

    ``entries``: the tokens by id where another list says them, as MarianMT's vocab.json does; its pieces are looked up there.
    ``spelled``: those, beside sentinels, that are found in a text by their name.
    """
    processor, own = sentencepiece_pieces(content)
    outer_spaces = processor.decode(processor.encode(" a ")) == " a "
    roles = {role: getattr(processor, f"{role}_id")() for role in NAMES}
    for role, name in (("pad", "<pad>"), ("bos", "<s>"), ("eos", "</s>")):
        if roles[role] < 0:  # a model may be trained without
            roles[role] = own.index(name) if name in own else len(own)
            own += [] if name in own else [name]
    languages = {entry for entry in entries or () if LANGUAGE.fullmatch(entry)}
    silent = frozenset(entry for entry in entries or () if SENTINEL.fullmatch(entry))

    def split(text: str) -> list[str]:
        code = LANGUAGE.match(text) if languages else None
        if code and code[0] in languages:
            return [code[0], *processor.encode(text[code.end() :], out_type=str)]
        return list(processor.encode(text, out_type=str))

    def join(pieces: Iterable[str]) -> str:
        # Pieces of another model's that share the list come as they are.
        text: str = processor.decode_pieces(list(pieces)).replace(SPACE, " ")
        return text if outer_spaces else text.strip()  # a model that drops them where it reads has none to write

    listed = tuple(own) if entries is None else entries
    return SubwordModel(listed, roles, between({*silent, *spelled}, split), join, content, silent)
