"""Checks of what a backend's calls are given: a configuration, token ids and lengths as NumPy arrays, numbers of steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .config import TransformerConfig, check_whole
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


def check_config(config: Any) -> None:
    """Refuse what is no configuration, such as the name of a preset."""
    if not isinstance(config, TransformerConfig):
        raise ConfigError(
            "config must be a TransformerConfig, such as presets.d2l(source_vocab_size, target_vocab_size) gives, got "
            f"{config!r:.80}."
        )


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


def check_prompt(config: TransformerConfig, prompt: Any, valid_lens: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids that a decoder alone continues, and how many of each row there are: at least one."""
    tokens = check_tokens("prompt", prompt, config.target_vocab_size or 0, config.max_len)
    lens = check_lengths("The prompt's valid_lens", valid_lens, *tokens.shape)
    if lens.min() == 0:
        raise TokenError(f"A prompt must have at least one token, such as <bos>, got valid_lens {lens.tolist()}.")
    return tokens, lens


def check_max_steps(config: TransformerConfig, max_steps: int | None, prompt_steps: int = 1) -> int:
    """The number of steps; None gives the most.

    The last token is not fed; so one of the prompt, or the start token, takes no position from those to come.
    """
    limit = config.max_len - prompt_steps + 1
    if max_steps is None:
        return limit
    check_whole("max_steps", max_steps)
    if not 1 <= max_steps <= limit:
        after = f" - {prompt_steps - 1}, which a prompt of {prompt_steps} tokens leaves," if prompt_steps > 1 else ","
        raise TokenError(f"max_steps must be from 1 to max_len = {config.max_len}{after} got {max_steps}.")
    return int(max_steps)


def check_dropout_paths(masks: Iterable[str], sites: Iterable[str]) -> None:
    """Refuse injected dropout masks that are not exactly one for each dropout whose rate is above 0."""
    missing, unexpected = sorted(set(sites) - set(masks)), sorted(set(masks) - set(sites))
    if missing or unexpected:
        problems = [f"missing {path}" for path in missing] + [f"unexpected {path}" for path in unexpected]
        raise ShapeError(f"The dropout masks do not fit the model: {', '.join(problems)}.")
