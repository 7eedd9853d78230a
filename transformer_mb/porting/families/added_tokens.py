"""Tokens that users added to a slow tokenizer: added_tokens.json, and ``added_tokens_decoder`` of tokenizer_config.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import PortError
from .hugging_face import NO_TOKEN, read_object

FILE, FIELD = "added_tokens.json", "added_tokens_decoder"
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
MOST_ADDED, LONGEST = 10_000, 10  # numbers past those of the vocabulary; digits of one


@dataclass(frozen=True)
class AddedTokens:
    """Tokens by number, and which of them are special: no text has them."""

    folder: Path
    tokens: Mapping[int, str]
    special: frozenset[str]

    def after(self, entries: Sequence[str]) -> list[str]:
        """Return tokens by number with these behind them; raises PortError where both name one number otherwise."""
        found = {**dict(enumerate(entries)), **self.tokens}
        wrong = next((number for number, token in enumerate(entries) if found[number] != token), None)
        if wrong is not None:
            raise PortError(
                f"{self.folder}: token {wrong} of the tokenizer must have one name, but it is {entries[wrong]!r:.40} in the "
                f"vocabulary and {found[wrong]!r:.40} among the added tokens."
            )
        count = max(found, default=-1) + 1
        if count > len(entries) + MOST_ADDED:
            raise PortError(
                f"{self.folder}: the number of an added token must be at most {MOST_ADDED:,} past the vocabulary's "
                f"{len(entries):,}, got {count - 1:,}."
            )
        return [found.get(number, NO_TOKEN.format(number)) for number in range(count)]

    def following(self, names: Sequence[str], first: int) -> AddedTokens:
        """Return these with special tokens from the number ``first`` on, unless that number has another name."""
        listed = {first + place: name for place, name in enumerate(names)}
        return replace(self, tokens={**listed, **self.tokens}, special=self.special | set(names))

    def rows(self, names: Sequence[str], first: int) -> list[dict[str, Any]]:
        """Return tokens from the number ``first`` on as tokenizer.json lists added ones."""
        words = {*self.tokens.values()} - self.special
        return [
            {"id": number, "content": name, **FLAGS, "special": name not in words} for number, name in enumerate(names, first)
        ]


def read_added(folder: Path, fields: Mapping[str, Any], named: Sequence[str]) -> AddedTokens:
    """Read those of a folder; ``named``: tokens with a role, which are special. Raises PortError."""
    table = fields.get(FIELD) or {}
    rows = [(str(number), row) for number, row in table.items()] if isinstance(table, dict) else [("", None)]
    tokens: dict[str, Any] = {number: row.get("content") if isinstance(row, dict) else row for number, row in rows}
    if (folder / FILE).is_file():
        tokens |= {str(number): token for token, number in read_object(folder / FILE).items()}
    for number, token in tokens.items():
        if not (number.isdecimal() and len(number) < LONGEST and isinstance(token, str)):
            raise PortError(f"{folder}: added tokens must be texts by whole numbers, got {token!r:.40} by {number!r:.40}.")
    special = {str(row["content"]) for _, row in rows if isinstance(row, dict) and row.get("special") is True}
    return AddedTokens(folder, {int(number): token for number, token in tokens.items()}, frozenset({*special, *named}))
