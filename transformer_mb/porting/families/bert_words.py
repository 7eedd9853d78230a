"""Vocabularies of BERT folders: ``vocab.txt``, a token per line, or the tokens that a ``tokenizer.json`` lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ...config import TransformerConfig
from ...data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ...files.regular import read_regular_text
from ..kinds import Settings
from ..model import PortedModel
from ..safety.port_errors import system_errors
from .description import Words
from .hugging_face import read_object, vocabulary_of

VOCABULARY, TOKENIZER = "vocab.txt", "tokenizer.json"
ROLES = {"unk": "[UNK]", "pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]"}


def read_words(folder: Path, config: TransformerConfig, settings: Settings) -> Words:
    """Return the vocabulary of words as that of the source, or why there is none."""
    ids = _token_ids(folder)
    if not ids:
        return None, None, f"There is no {VOCABULARY} or {TOKENIZER} that lists the tokens: the vocabulary was left out."
    special = {role: ids.get(ROLES[role], config.pad_id) for role in SPECIAL_TOKENS}
    words = partial(Vocabulary, pipeline="words", special=special)
    vocabulary, problem = vocabulary_of(ids, config.source_vocab_size or 0, VOCABULARY, words)
    return vocabulary, None, problem


def write_words(folder: Path, model: PortedModel) -> None:
    """Write a token per line."""
    if model.source_vocabulary is not None:
        (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in model.source_vocabulary.entries), encoding="utf-8")


def _token_ids(folder: Path) -> Mapping[str, int]:
    if (folder / VOCABULARY).is_file():
        with system_errors(f"{folder / VOCABULARY} cannot be read", UnicodeDecodeError):
            lines = read_regular_text(folder / VOCABULARY, "vocabulary").removesuffix("\n").split("\n")
        return {token: number for number, token in enumerate(lines)}
    if not (folder / TOKENIZER).is_file():
        return {}
    model = read_object(folder / TOKENIZER).get("model")
    ids = model.get("vocab") if isinstance(model, dict) else None
    return ids if isinstance(ids, dict) else {}
