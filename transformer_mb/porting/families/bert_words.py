"""Vocabularies of BERT folders: their tokenizer, or else the tokens of ``vocab.txt``, one per line, or ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from ...config import TransformerConfig
from ...data.vocabulary import SPECIAL_TOKENS, Vocabulary
from ...errors import PortError
from ...files.regular import read_regular_text
from ..kinds import Settings
from ..model import PortedModel
from ..safety.port_errors import system_errors
from . import tokenizer_files
from .hugging_face import read_object, vocabulary_of
from .tokenizer_files import Words

VOCABULARY, TOKENIZER = "vocab.txt", "tokenizer.json"
ROLES = {"unk": "[UNK]", "pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]"}


def read_words(folder: Path, config: TransformerConfig, settings: Settings) -> Words:
    """Return the tokenizer as the source's vocabulary, or tokens alone where it cannot be read, or why there are none."""
    with suppress(PortError):  # tokens by their ids are worth something too
        found = tokenizer_files.read_words(folder, config, settings)
        if found.source is not None:
            return found
    ids = _token_ids(folder)
    if not ids:
        return Words(None, None, f"There is no {VOCABULARY} or {TOKENIZER} that lists the tokens: the vocabulary was left out.")
    special = {role: ids.get(ROLES[role], config.pad_id) for role in SPECIAL_TOKENS}
    words = partial(Vocabulary, pipeline="words", special=special)
    vocabulary, problem = vocabulary_of(ids, config.source_vocab_size or 0, VOCABULARY, words)
    return Words(vocabulary, None, problem)


def write_words(folder: Path, model: PortedModel) -> None:
    """Write a token per line, and the tokenizer where there is one."""
    tokenizer_files.write_words(folder, model)
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
