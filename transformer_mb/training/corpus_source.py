"""Sources of a training's sentence pairs and vocabularies: objects in Python, small files in memory, large ones in a cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..data import CorpusFiles, Pairs, TokenCache, TokenizedPairs, Vocabulary, build_vocabularies, read_pairs, tokenized
from ..data.subwords import read_tokenizers_of
from ..data.vocabulary_files import read_vocabulary_files
from ..errors import ConfigError
from ..files.regular import is_address

# Bytes of text. What is smaller is tokenized within seconds, and a small job shall leave no folder beside its checkpoint.
IN_MEMORY = 64 * 2**20
FEW = 100_000  # first lines that are read into memory, however long the file


def reading(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options by which ``[data]`` has lines read."""
    return {"fields": data.get("fields"), "columns": data.get("columns"), "bad_lines": data.get("bad_lines", "stop")}


def validation_pairs(data: Mapping[str, Any]) -> Pairs | None:
    """Return the pairs of the validation; they are kept in memory."""
    if not (path := data.get("validation")):
        return None
    return read_pairs(path, data.get("validation_target"), **reading(data))


class CorpusSource:
    """Sentence pairs as text, and how they become ids.

    Attributes:
        action: what becomes of bad lines, ``stop`` or ``drop``.
    """

    def __init__(self, pairs: Pairs | CorpusFiles, cache: TokenCache | None = None):
        self.pairs, self.cache = pairs, cache

    @classmethod
    def of(
        cls,
        given: Pairs | None,
        data: Mapping[str, Any],
        num_examples: int | None,
        folder: Path | None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> CorpusSource:
        """``given``, or the files that ``[data]`` names.

        Their ids go to the folder ``cache``; without it those of files of at least 64 MiB to one beside the checkpoint's
        ``folder``, and others are in memory, as where there is no checkpoint. ``progress`` hears how far a long reading is.
        """
        if given is not None:
            return cls(given)
        paths = data["source"], data.get("target")
        how = {"num_examples": num_examples, **reading(data)}
        files, cache = CorpusFiles(*paths, **how, progress=progress), data.get("cache")
        if cache and is_address(cache):
            raise ConfigError(f"The cache must be a folder on this machine, got the address {cache}.")
        few = files.size < IN_MEMORY or (num_examples is not None and num_examples <= FEW)
        if not cache and few:
            return cls(read_pairs(*paths, **how))
        if not cache and folder is not None:
            cache = folder.with_name(f"{folder.name}.cache")
        return cls(files, TokenCache(Path(cache), files) if cache else None)

    @property
    def action(self) -> str:
        return self.pairs.bad_lines.action

    def vocabularies(self, pipeline: str, min_freq: int, shared: bool) -> tuple[Vocabulary, Vocabulary]:
        """Build the vocabularies of words; see ``build_vocabularies``."""

        def made() -> tuple[Vocabulary, Vocabulary]:
            return build_vocabularies(self.pairs, pipeline, min_freq, shared=shared)

        return made() if self.cache is None else self.cache.vocabularies((pipeline, min_freq, shared), made)

    def tokenized(self, vocabularies: tuple[Vocabulary, Vocabulary], most: int | None) -> TokenizedPairs:
        """Tokenize the pairs; with bad lines, pairs are dropped too that have a side of over ``most`` tokens, <eos> counted."""
        longest = most if self.action == "drop" else None
        if self.cache is not None:
            return self.cache.tokenized(vocabularies, longest)
        return tokenized(self.pairs, vocabularies, longest)


Vocabularies = tuple[Vocabulary, Vocabulary]


def named_vocabularies(data: Mapping[str, Any], pipeline: str) -> Vocabularies | None:
    """Read ``[data]``'s vocabularies: of subwords by ``tokenizer``, of words by ``vocabulary``; None: those of its pairs."""
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
