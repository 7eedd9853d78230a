"""Vocabularies in D2L's order, with the text pipeline that makes their tokens and their JSON form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ..errors import DataError, TokenError
from .padding import Frame
from .text import TextPipeline, text_pipeline

SPECIAL_TOKENS = {"unk": "<unk>", "pad": "<pad>", "bos": "<bos>", "eos": "<eos>"}
SPECIAL_IDS = {role: number for number, role in enumerate(SPECIAL_TOKENS)}
FIELDS: dict[str, type] = {"tokens": list, "pipeline": str, "special": dict}
FRAME = "frame"  # a field that is there where a text has other ids around it than eos after it
TIDY, SPELLED, SILENT = "tidy", "spelled", "silent"  # fields of subwords that are there where they say something


class Vocabulary:
    """Tokens by id, ids by token, and how text becomes tokens.

    Args:
        entries: the tokens in the order of their ids, all different.
        pipeline: a text pipeline, or the name of one of ``TEXT_PIPELINES``.
        special: the id of each role ``unk``, ``pad``, ``bos``, ``eos``; by default D2L's 0, 1, 2, 3. Two roles may
            share an id, as in vocabularies of other families.
        frame: ids that a model reads before and after those of a text, ``opening`` and ``closing``; None: eos after it.
    Raises:
        DataError: naming what is wrong.
    """

    def __init__(
        self,
        entries: Iterable[str],
        pipeline: str | TextPipeline = "words",
        special: Mapping[str, int] | None = None,
        frame: Frame | None = None,
    ):
        self.entries = _listed(entries)
        self.pipeline = pipeline if isinstance(pipeline, TextPipeline) else text_pipeline(pipeline)
        self.special = dict(SPECIAL_IDS if special is None else special)
        self._id_of = _numbered(self.entries)
        _check_special(self.special, len(self.entries))
        self.unk_id, self.pad_id, self.bos_id, self.eos_id = (self.special[role] for role in SPECIAL_TOKENS)
        self.frame = None if frame is None else _checked_frame(frame, len(self.entries))
        self.opening, self.closing = self.frame or ((), (self.eos_id,))
        roles = {*self.special.values(), *self.opening, *self.closing}  # no text spells these
        self._id_in_text = {token: number for token, number in self._id_of.items() if number not in roles}

    @classmethod
    def from_tokens(cls, lists: Iterable[Sequence[str]], min_freq: int = 1, pipeline: str = "words") -> Vocabulary:
        """Make a vocabulary as D2L does (8.2.3): the special tokens, then all that occur ``min_freq`` times, by frequency.

        Tokens of one frequency keep the order in which they first appear. A special token that occurs in the text
        keeps its own place.
        """
        return cls.from_counts(Counter(chain.from_iterable(lists)), min_freq, pipeline)

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_freq: int = 1, pipeline: str = "words") -> Vocabulary:
        """Make a vocabulary as ``from_tokens`` does; ``counts``: how often each token occurs, in the order of first use."""
        frequent = [token for token, count in counts.items() if count >= min_freq and token not in SPECIAL_TOKENS.values()]
        frequent.sort(key=counts.__getitem__, reverse=True)
        return cls([*SPECIAL_TOKENS.values(), *frequent], pipeline)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, token: object) -> bool:
        return token in self._id_of

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens, pipeline {self.pipeline.name})"

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """The id of each token, ``unk_id`` for those that are not here."""
        if isinstance(tokens, str):
            raise TokenError(f"ids must be given a list of tokens, got the text {tokens!r}; encode splits a text.")
        return [self._id_of.get(token, self.unk_id) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The token of each id; raises TokenError for an id that is not here."""
        numbers = [int(number) for number in ids]
        for number in numbers:
            if not 0 <= number < len(self):
                raise TokenError(f"Token ids must be from 0 to {len(self) - 1}, got {number}.")
        return [self.entries[number] for number in numbers]

    def pieces(self, text: str) -> list[str]:
        """The tokens of a sentence as they stand in it, whether they are here or not."""
        return self.pipeline.encode(text)

    def normalized(self, text: str) -> str:
        """The text as encoding leaves it, lower case for instance: what a perfect model could write."""
        return self.pipeline.detokenize(self.pieces(text))

    def encode(self, text: str) -> list[int]:
        """The ids of a sentence, without bos and eos. A special token's name in it, such as <eos>, is an unknown word."""
        return self.encoded(self.pieces(text))

    def encoded(self, pieces: Iterable[str]) -> list[int]:
        """The ids of a sentence by its ``pieces``."""
        return [self._id_in_text.get(piece, self.unk_id) for piece in pieces]

    @property
    def around(self) -> int:
        """The number of ids that frame a text."""
        return len(self.opening) + len(self.closing)

    def framed(self, ids: Sequence[int]) -> list[int]:
        """The ids of a sentence with what a model reads before and after them."""
        return [*self.opening, *ids, *self.closing]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of many sentences."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a decoded sentence; pad, bos, eos and what frames a text are left out."""
        silent = {self.pad_id, self.bos_id, self.eos_id, *self.opening, *self.closing}
        return self.pipeline.detokenize(self.tokens(number for number in ids if number not in silent))

    def to_json(self) -> str:
        """The content of ``source_vocabulary.json`` and ``target_vocabulary.json`` in a checkpoint."""
        return json.dumps(self._fields(), ensure_ascii=False, indent=0)

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Read ``to_json`` back; raises DataError that names what is missing, unknown or wrong."""
        fields = read_fields(text)
        return cls(fields["tokens"], fields["pipeline"], fields["special"], fields.get(FRAME))

    def _fields(self) -> dict[str, Any]:
        frame = {} if self.frame is None else {FRAME: [list(ids) for ids in self.frame]}
        return {"tokens": list(self.entries), "pipeline": self.pipeline.name, "special": self.special, **frame}


def build_vocabularies(
    pairs: Iterable[tuple[str, str]], pipeline: str = "d2l", min_freq: int = 1, *, shared: bool = False
) -> tuple[Vocabulary, Vocabulary]:
    """The vocabularies of the two sides of a corpus; ``shared`` makes one of both (``share_embeddings`` needs it)."""
    encode = text_pipeline(pipeline).encode
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for source, target in pairs:
        sources.update(encode(source))
        targets.update(encode(target))
    if shared:
        sources.update(targets)
        vocabulary = Vocabulary.from_counts(sources, min_freq, pipeline)
        return vocabulary, vocabulary
    return Vocabulary.from_counts(sources, min_freq, pipeline), Vocabulary.from_counts(targets, min_freq, pipeline)


LONGEST_GOT = 100  # characters that a message shows of what came


def read_fields(text: str, *more: str) -> dict[str, Any]:
    """Read a vocabulary's JSON, with fields of type str beside the usual ones."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"The vocabulary is not JSON: {error}.") from None
    names, optional = (*FIELDS, *more), {FRAME, TIDY, SPELLED, SILENT} if more else {FRAME}
    if not isinstance(fields, dict) or set(fields) - optional != set(names):
        got = ", ".join(map(repr, fields)) if isinstance(fields, dict) else type(fields).__name__
        got = got if len(got) <= LONGEST_GOT else f"{got[:LONGEST_GOT]}... ({len(fields):,} fields)"
        raise DataError(f"A vocabulary must be an object with the fields {', '.join(names)}, got {got or 'none'}.")
    for name in names:
        kind = FIELDS.get(name, str)
        if not isinstance(fields[name], kind):
            raise DataError(f"The vocabulary's {name} must be a {kind.__name__}, got {fields[name]!r:.60}.")
    return fields


def _listed(entries: Any) -> tuple[Any, ...]:
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise DataError(f"The tokens of a vocabulary must be a list of strings, got a {type(entries).__name__}.")
    if not (listed := tuple(entries)):
        raise DataError(
            f"A vocabulary must hold at least the special tokens ({', '.join(SPECIAL_TOKENS.values())}), got no token."
        )
    return listed


def _numbered(entries: tuple[Any, ...]) -> dict[str, int]:
    id_of: dict[str, int] = {}
    for number, token in enumerate(entries):
        if not isinstance(token, str):
            raise DataError(f"Every token of a vocabulary must be a string, but token {number} is {token!r:.60}.")
        if id_of.setdefault(token, number) != number:
            raise DataError(f"The tokens of a vocabulary must differ, but {token!r} has the ids {id_of[token]} and {number}.")
    return id_of


def _checked_frame(frame: Any, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    lists = frame if isinstance(frame, list | tuple) and all(isinstance(ids, list | tuple) for ids in frame) else ()
    if len(lists) != 2 or not all(type(number) is int and 0 <= number < size for ids in lists for number in ids):
        raise DataError(f"The frame of a vocabulary must be two lists of ids from 0 to {size - 1}, got {frame!r:.80}.")
    opening, closing = map(tuple, lists)
    return opening, closing


def _check_special(special: Mapping[str, Any], size: int) -> None:
    if set(special) != set(SPECIAL_TOKENS):
        raise DataError(
            f"The special tokens of a vocabulary must be {', '.join(SPECIAL_TOKENS)}, got "
            f"{', '.join(map(repr, special)) or 'none'}."
        )
    for role, number in special.items():
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < size:
            raise DataError(f"The id of special token {role} must be from 0 to {size - 1}, got {number!r}.")


FIRST = 500  # pairs that are looked at
FEWER = 0.5  # the share of unknown words that is left where the sides are exchanged back
MANY = 0.4  # of the words are unknown as it is


def swapped_note(pairs: Iterable[tuple[str, str]], vocabularies: tuple[Vocabulary, Vocabulary]) -> str | None:
    """A sentence where most words are unknown, and would be known on the other side; None otherwise.

    Subwords know every text: of them nothing can be said.
    """
    source, target = vocabularies
    if source == target:
        return None
    looked_at = list(islice(pairs, FIRST))
    given, exchanged = _unknown(looked_at, source, target), _unknown(looked_at, target, source)
    if given < MANY or exchanged > FEWER * given:
        return None
    shares = f"{given:.0%} of the words are unknown, and {exchanged:.0%} would be with source and target exchanged"
    return f"the two sides seem to be swapped: {shares}"


def _unknown(pairs: list[tuple[str, str]], first: Vocabulary, second: Vocabulary) -> float:
    ids = [
        number == one.unk_id
        for pair in pairs
        for text, one in zip(pair, (first, second), strict=True)
        for number in one.encode(text)
    ]
    return sum(ids) / max(1, len(ids))
