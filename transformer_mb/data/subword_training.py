"""Training subword tokenizers on a corpus, which is read sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..config import check_sizes
from ..errors import ConfigError, DataError
from .subword_models import library
from .subwords import SubwordVocabulary
from .tokenizer_json import trust
from .vocabulary import SPECIAL_TOKENS

MODELS = ("bpe", "unigram")
LEAST_SIZE = 256 + len(SPECIAL_TOKENS)  # every byte is a token
TOGETHER = 1024  # texts handed over at once


def train_subwords(texts: Iterable[str], vocab_size: int = 8000, model: str = "bpe") -> SubwordVocabulary:
    """A tokenizer of bytes that loses nothing, with <unk>, <pad>, <bos> and <eos> as 0, 1, 2, 3.

    Args:
        texts: sentences as they are; of a small corpus the vocabulary stays smaller than was asked for.
        vocab_size: tokens, special ones included, from 260 on.
        model: ``bpe`` (Sennrich et al. 2016) or ``unigram`` (Kudo 2018), whose scores change a little from run to run.
    Raises:
        ConfigError: an argument that cannot be. DataError: no text, or tokenizers is not installed.
    """
    check_sizes(vocab_size=vocab_size)
    if model not in MODELS:
        raise ConfigError(f"model must be one of {', '.join(MODELS)}, got {model!r}.")
    if vocab_size < LEAST_SIZE:
        raise ConfigError(f"vocab_size must be at least {LEAST_SIZE} (256 bytes and the special tokens), got {vocab_size}.")
    tokenizers = library("tokenizers")
    of_bytes = tokenizers.pre_tokenizers.ByteLevel
    options: dict[str, Any] = {
        "vocab_size": vocab_size,
        "special_tokens": list(SPECIAL_TOKENS.values()),
        "initial_alphabet": sorted(of_bytes.alphabet()),
        "show_progress": False,
    }
    if model == "bpe":
        made, trainer = tokenizers.models.BPE(), tokenizers.trainers.BpeTrainer(**options)
    else:
        made = tokenizers.models.Unigram()
        trainer = tokenizers.trainers.UnigramTrainer(**options, unk_token=SPECIAL_TOKENS["unk"])
    tokenizer = tokenizers.Tokenizer(made)
    tokenizer.pre_tokenizer = of_bytes(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    chunks = _chunks(texts)
    first = next(chunks, None)
    if first is None:
        raise DataError("A tokenizer is trained on at least one text, got none.")
    tokenizer.train_from_iterator(_after(first, chunks), trainer=trainer)
    content = tokenizer.to_str(pretty=True).encode()
    trust(content)
    return SubwordVocabulary("tokenizers", content)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    filled = (text for text in texts if text.strip())
    while chunk := list(islice(filled, TOGETHER)):
        yield chunk


def _after(first: list[str], rest: Iterator[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rest
