"""Checks on the token arrays that enter a model, worded once for every backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from .config import TransformerConfig
from .errors import ConfigError, ShapeError, TokenError


def check_tokens(name: str, tokens: Any, vocab_size: int, max_len: int) -> np.ndarray:
    """[B, steps] integers as int64; raises ShapeError or TokenError."""
    array = np.asarray(tokens)
    if array.ndim != 2 or array.size == 0:
        raise ShapeError(f"{name} must have shape [B, steps] with at least one token, got {list(array.shape)}.")
    if array.dtype.kind not in "iu":
        raise TokenError(f"{name} must hold whole numbers, got dtype {array.dtype}.")
    if array.shape[1] > max_len:
        raise TokenError(f"{name} must be at most max_len = {max_len} tokens long, got {array.shape[1]}.")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= vocab_size:
        wrong = low if low < 0 else high
        raise TokenError(f"{name} must hold token ids from 0 to {vocab_size - 1}, got {wrong}.")
    return array.astype(np.int64)


def check_lengths(name: str, valid_lens: Any, batch: int, steps: int) -> np.ndarray:
    """[B] lengths from 0 to steps as int64; None means that every sequence is full."""
    array = np.full(batch, steps) if valid_lens is None else np.asarray(valid_lens)
    if array.shape != (batch,):
        raise ShapeError(f"{name} must have shape [{batch}], got {list(array.shape)}.")
    if array.dtype.kind not in "iu" or array.min() < 0 or array.max() > steps:
        raise TokenError(f"{name} must hold lengths from 0 to {steps}, got {array.tolist()}.")
    return array.astype(np.int64)


def check_side(config: TransformerConfig, side: str, call: str) -> None:
    """Refuse a call that needs an encoder or a decoder which the architecture lacks."""
    if not getattr(config, f"has_{side}"):
        raise ConfigError(f"{call} needs a model with {side}, but the architecture is {config.architecture}.")


def check_source(config: TransformerConfig, source: Any, valid_lens: Any) -> tuple[Any, Any]:
    """Source ids and lengths, or (None, None) for a model without an encoder."""
    if not config.has_encoder:
        if source is not None:
            raise ConfigError("A model of architecture decoder takes no source, got one.")
        return None, None
    tokens = check_tokens("source", source, config.source_vocab_size or 0, config.max_len)
    return tokens, check_lengths("source_valid_lens", valid_lens, *tokens.shape)


def check_target(config: TransformerConfig, target: Any, batch: int | None, name: str = "target") -> np.ndarray:
    """Target ids; their batch must be the source's."""
    tokens = check_tokens(name, target, config.target_vocab_size or 0, config.max_len)
    if batch is not None and tokens.shape[0] != batch:
        raise ShapeError(f"{name} must have batch size {batch} as the source has, got {tokens.shape[0]}.")
    return tokens


def check_max_steps(config: TransformerConfig, max_steps: int) -> int:
    if not 1 <= max_steps <= config.max_len:
        raise TokenError(f"max_steps must be from 1 to max_len = {config.max_len}, got {max_steps}.")
    return int(max_steps)


def check_positions(steps: int, max_len: int) -> None:
    """Refuse a sequence that runs past the last position."""
    if steps > max_len:
        raise TokenError(f"A sequence must be at most max_len = {max_len} tokens long, got {steps}.")
