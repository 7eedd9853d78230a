"""The vocabularies of a training's two sides, wherever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data import Vocabulary
from ..data.subwords import read_tokenizers_of
from ..data.vocabulary_files import read_vocabulary_files
from ..errors import ConfigError

Vocabularies = tuple[Vocabulary, Vocabulary]


def named_vocabularies(data: Mapping[str, Any], pipeline: str) -> Vocabularies | None:
    """Those that ``[data]`` names: of subwords by ``tokenizer``, or of words by ``vocabulary``; None: those of its pairs."""
    if words := read_vocabulary_files(data, pipeline):
        return words
    return read_tokenizers_of(data["tokenizer"]) if data.get("tokenizer") else None


def check_together(source: Vocabulary, target: Vocabulary, shared: bool) -> None:
    """Refuse two that one model cannot have; ``shared``: it has one table for both sides. Raises ConfigError."""
    for role in ("pad", "bos", "eos"):  # a model has one of each
        if source.special[role] != target.special[role]:
            got = f"{source.special[role]} and {target.special[role]}"
            raise ConfigError(f"Both vocabularies must have the same id for {role}, got {got}.")
    if shared and source.entries != target.entries:
        raise ConfigError(
            "share_embeddings needs one vocabulary for both sides (tokenizer train --shared, or a single file), got two."
        )
