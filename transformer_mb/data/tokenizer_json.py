"""A tokenizer.json before its library reads it: what it lacks is added, what would be random or without bounds is not taken."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..columns.ending import ending, hung
from ..errors import DataError

UNKNOWN, PADDING = ("<unk>", "[UNK]"), ("<pad>", "[PAD]")
RAREST = -100.0  # the score of a unigram that no text is to contain
MOST_GROWTH = 100  # times that replacements may make a text longer
MOST_REPLACEMENTS, LONG_PATTERN = 1000, 100  # one after another; characters of a text that is tried
OF_BYTES = frozenset(f"<0x{number:02X}>" for number in range(256))
EXPECTED = "A tokenizer.json was expected, which tokenizers does not find here"


def amended(content: bytes, alphabet: Sequence[str], entries: Sequence[str] | None = None) -> tuple[bytes, str | None]:
    """The file with a token for what is unknown and one for padding, without dropout; and the name of the first.

    Args:
        alphabet: the 256 characters that stand for bytes where a tokenizer is of bytes.
        entries: the tokens that it must have; no other is added then.
    Raises:
        DataError: it is no JSON, or makes text so much longer that it would take all memory.
    """
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{EXPECTED}: {error!s:.200}.") from None
    model = fields.get("model") if isinstance(fields, dict) else None
    added = fields.get("added_tokens") if isinstance(fields, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(model, dict) or not isinstance(vocabulary, dict | list) or not isinstance(added, list | None):
        return content, None  # the library says what is wrong
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        _check_growth(fields.get(part), part)
    changed = bool(model.get("dropout"))  # with it the tokens of a text are others each time
    if changed:
        model["dropout"] = None
    kind, fields["added_tokens"] = model.get("type"), added or []
    tokens = _Tokens(vocabulary, fields["added_tokens"], entries)
    if kind == "Unigram":
        changed |= _unigram_unknown(model, tokens)
    elif kind in ("BPE", "WordLevel", "WordPiece") and isinstance(vocabulary, dict):
        changed |= _word_unknown(model, tokens, _takes_all_bytes(fields, alphabet))
    changed |= not tokens.first(PADDING) and tokens.add(PADDING[0])
    return (json.dumps(fields).encode() if changed else content), tokens.unknown


def listed_tokens(content: bytes) -> list[str]:
    """The tokens of a file by their ids, which must be 0, 1, 2, ...; raises DataError."""
    try:
        fields = json.loads(content)
        vocabulary, added = fields["model"]["vocab"], fields.get("added_tokens") or []
        pairs = vocabulary.items() if isinstance(vocabulary, dict) else ((one[0], at) for at, one in enumerate(vocabulary))
        tokens = {number: token for token, number in pairs} | {one["id"]: one["content"] for one in added}
        names = [tokens[number] for number in range(len(tokens))]
    except (ValueError, RecursionError, TypeError, KeyError, IndexError, AttributeError) as error:
        what = f"{type(error).__name__}: {error!s:.100}"
        raise DataError(f"A tokenizer.json must list its tokens by the ids 0, 1, 2, ..., but it does not ({what}).") from None
    if not all(isinstance(name, str) for name in names):
        raise DataError("The tokens of a tokenizer.json must be texts, got something else.")
    return names


def spelling(content: bytes, pattern: re.Pattern[str], names: Sequence[str]) -> tuple[bytes, list[str]]:
    """Return a file that finds tokens of these names, or of such a name, in a text; and those of them that are special.

    The library finds added tokens that are not special, each with the blanks around it that its flags say.
    """
    fields = json.loads(content)
    vocabulary, added = fields["model"]["vocab"], fields["added_tokens"]
    own = vocabulary if isinstance(vocabulary, dict) else {one[0]: at for at, one in enumerate(vocabulary)}
    listed = {one["content"]: one for one in added}
    found = [name for name in {**own, **listed} if name in names or pattern.fullmatch(name)]
    special = [name for name in found if name not in listed or listed[name].get("special")]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    for name in found:
        if name in listed:
            listed[name]["special"] = False
        else:
            added.append({"id": own[name], "content": name, **flags})
    return json.dumps(fields).encode(), special


class _Tokens:
    """The tokens of a file by name, and those that may be added."""

    def __init__(self, vocabulary: dict[str, Any] | list[Any], added: list[Any], entries: Sequence[str] | None):
        self.vocabulary, self._added, self._entries = vocabulary, added, entries
        own = vocabulary if isinstance(vocabulary, dict) else {}
        if isinstance(vocabulary, list):
            own = {one[0]: at for at, one in enumerate(vocabulary) if isinstance(one, list) and one and isinstance(one[0], str)}
        named = [one for one in added if isinstance(one, dict) and isinstance(one.get("content"), str)]
        self.ids: dict[str, Any] = {**{one["content"]: one.get("id") for one in named}, **own}
        self.unknown: str | None = None

    def first(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if name in self.ids), None)

    def may_add(self, name: str) -> bool:
        return self._entries is None or name in self._entries

    def add(self, name: str) -> bool:
        """Add a token that no text contains."""
        if not self.may_add(name):
            return False
        self.ids[name] = len(self.ids)
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        self._added.append({"id": self.ids[name], "content": name, **flags, "special": True})
        return True


def _word_unknown(model: dict[str, Any], tokens: _Tokens, all_bytes: bool) -> bool:
    """Return the unknown token: without one, characters would be swallowed (BPE), or refused one by one."""
    name = model.get("unk_token")
    if (name is None and all_bytes) or not isinstance(name, str | None):
        return False
    name = tokens.unknown = name or tokens.first(UNKNOWN) or UNKNOWN[0]
    if model.get("unk_token") == name and name in tokens.vocabulary:
        return False
    if name not in tokens.ids and not tokens.may_add(name):
        tokens.unknown = None
        return False
    model["unk_token"] = name
    model["vocab"].setdefault(name, tokens.ids.setdefault(name, len(tokens.ids)))
    return True


def _unigram_unknown(model: dict[str, Any], tokens: _Tokens) -> bool:
    vocabulary, number = model["vocab"], model.get("unk_id")
    if not isinstance(vocabulary, list) or isinstance(number, int) or tokens.ids.keys() >= OF_BYTES:
        if isinstance(vocabulary, list) and isinstance(number, int) and 0 <= number < len(vocabulary):
            tokens.unknown = next((name for name, at in tokens.ids.items() if at == number), None)
        return False
    name = tokens.unknown = tokens.first(UNKNOWN) or UNKNOWN[0]
    if name not in tokens.ids and len(tokens.ids) == len(vocabulary) and tokens.may_add(name):
        tokens.ids[name] = len(vocabulary)
        vocabulary.append([name, RAREST])
    if tokens.ids.get(name, len(vocabulary)) >= len(vocabulary):
        raise DataError("A tokenizer of the kind Unigram must say which of its tokens is for what it does not know (unk_id).")
    model["unk_id"] = tokens.ids[name]
    return True


def _takes_all_bytes(fields: dict[str, Any], alphabet: Sequence[str]) -> bool:
    """Tell whether there is a token for each byte, so that nothing is unknown."""
    vocabulary = fields["model"]["vocab"]
    if fields["model"].get("byte_fallback") and vocabulary.keys() >= OF_BYTES:
        return True
    kinds = {str(one.get("type")) for part in ("normalizer", "pre_tokenizer") for one in _parts(fields.get(part))}
    return "ByteLevel" in kinds and vocabulary.keys() >= set(alphabet)


def _check_growth(part: Any, name: str) -> None:
    """Try the replacements and what is put before a text, one after another, on each text that one of them is for."""
    field = {"Replace": "content", "Prepend": "prepend"}
    replacing = [one for one in _parts(part) if isinstance(one.get(field.get(str(one.get("type")), "")), str)]
    literal = [one["pattern"].get("String") if isinstance(one.get("pattern"), dict) else None for one in replacing]
    refused = DataError(f"The {name} of a tokenizer must make no text more than {MOST_GROWTH:,} times as long, but it does.")
    if len(replacing) > MOST_REPLACEMENTS:
        raise DataError(
            f"The {name} of a tokenizer must have at most {MOST_REPLACEMENTS:,} replacements, got {len(replacing):,}."
        )
    for start in {"a", *(pattern for pattern in literal if isinstance(pattern, str) and len(pattern) <= LONG_PATTERN)}:
        text, times = start, 1
        for pattern, one in zip(literal, replacing, strict=True):
            if one["type"] == "Prepend":
                text = one["prepend"] + text
            elif isinstance(pattern, str):
                text = text.replace(pattern, one["content"])
            else:  # an expression may be for any character
                times *= max(1, len(one["content"]))
            if len(text) * times > MOST_GROWTH * max(1, len(start)):
                raise refused


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            if isinstance(inner, list):
                for one in inner:
                    yield from _parts(one)


TIMEOUT = 120.0  # seconds
# The process imports the library and no more, so that it costs tenths of a second.
PROGRAM = """
import sys
from importlib import import_module
sys.path.insert(0, sys.argv[2])
limits = import_module("transformer_mb.machine.limits")
content = sys.stdin.buffer.read()
library = import_module(sys.argv[1])
limits.limit_process(len(content))
texts = ["the dog", "a" * 40 + "!", "A \\u00e9\\u4e2d\\u0301 \\U0001f642 <eos>\\t1,2", "bcdefghijklmnopqrstuvwxyz"]
try:
    if sys.argv[1] == "tokenizers":
        made = library.Tokenizer.from_buffer(content)
        for text in texts:
            ids = made.encode(text, add_special_tokens=False).ids
            if len(ids) > 100 * len(text):
                sys.exit(f"it makes {len(ids):,} tokens of {len(text)} characters")
            made.decode(ids)
    else:
        made = library.SentencePieceProcessor()
        made.LoadFromSerializedProto(content)
        for text in texts:
            made.decode(made.encode(text))
except MemoryError:
    sys.exit("it takes more memory than a file of its size needs")
except Exception:  # the reader says so in words of its own
    pass
except BaseException as error:
    sys.exit(str(error))
"""
_read: set[bytes] = set()  # digests of what was tried before


def check_reading(library: str, content: bytes) -> None:
    """Refuse a file whose reading, or whose use on a few texts, does not end well; raises DataError."""
    digest = hashlib.sha256(content).digest()
    if digest in _read:
        return
    command = [sys.executable, "-P", "-c", PROGRAM, library, str(Path(__file__).parents[2])]
    try:
        alone = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
        done = subprocess.run(command, input=content, capture_output=True, timeout=TIMEOUT, env=alone)
        status, said = done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, said = None, hung(TIMEOUT)
    except OSError as error:
        raise DataError(f"The process that tries a tokenizer could not be started: {error.strerror or error}.") from None
    if status != 0:
        how = said if status is None else ending(status, said if status > 0 else "")
        raise DataError(f"A tokenizer must be one that {library} can read and use, but the process that tried it {how:.400}.")
    _read.add(digest)


def trust(content: bytes) -> None:
    """Trust a file that this process has made itself."""
    _read.add(hashlib.sha256(content).digest())
