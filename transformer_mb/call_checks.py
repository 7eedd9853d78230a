"""Checks of the arguments of a backend's calls: a configuration, token ids and lengths as NumPy arrays, numbers of steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .batch import Batch
from .checks import check_same, spelled
from .config import TransformerConfig, check_whole
from .errors import ConfigError, DtypeError, ShapeError, TokenError


def check_dtype(backend: str, dtypes: tuple[str, ...], dtype: Any, own_types: tuple[type, ...]) -> str:
    """The name of a dtype, which may be NumPy's or the framework's object too; raises DtypeError."""
    name = dtype
    if isinstance(dtype, type | np.dtype):  # such as np.float32
        name = np.dtype(dtype).name
    elif isinstance(dtype, own_types):  # such as torch.float32
        name = spelled(dtype)
    if name not in dtypes:
        raise DtypeError(f"The dtype of backend {backend} must be one of {', '.join(dtypes)}, got {dtype!r}.")
    return str(name)


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


def config_of(model: Any) -> TransformerConfig:
    """The configuration that a model was built from. Raises ConfigError where it has none."""
    config = getattr(model, "config", None)
    if not isinstance(config, TransformerConfig):
        raise ConfigError(
            f"The model must have the config it was built from, but this {type(model).__name__} has none: give a model that a "
            "backend made, without what wraps it, such as DataParallel."
        )
    return config


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


def check_batch(config: TransformerConfig, batch: Any) -> Batch:
    """The batch as int64 arrays that fit the model; raises ShapeError or TokenError."""
    if not isinstance(batch, tuple | list) or len(batch) != len(Batch._fields):
        got = f"{len(batch)} parts" if isinstance(batch, tuple | list) else f"a {type(batch).__name__}"
        raise ShapeError(f"A batch must be a Batch({', '.join(Batch._fields)}), got {got}.")
    batch = Batch(*batch)
    source, source_valid_lens = check_source(config, batch.source, batch.source_valid_lens)
    target_in = check_target(config, batch.target_in, None if source is None else source.shape[0], "target_in")
    target_out = check_target(config, batch.target_out, target_in.shape[0], "target_out")
    check_same("target_in", target_in.shape, "target_out", target_out.shape)
    target_valid_lens = check_lengths("target_valid_lens", batch.target_valid_lens, *target_out.shape)
    return Batch(source, source_valid_lens, target_in, target_out, target_valid_lens)


def check_step(batches: Sequence[Any], masks: Sequence[Any]) -> None:
    """Refuse a step of no batches, or with masks for another number of them; raises ShapeError."""
    if not batches or len(masks) != len(batches):
        raise ShapeError(f"A step must have batches, and dropout masks for each, got {len(batches)} and {len(masks)}.")


def check_prompt(config: TransformerConfig, prompt: Any, valid_lens: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids that a decoder alone continues, and how many of each row there are: at least one."""
    tokens = check_tokens("prompt", prompt, config.target_vocab_size or 0, config.max_len)
    lens = check_lengths("The prompt's valid_lens", valid_lens, *tokens.shape)
    if lens.min() == 0:
        raise TokenError(f"A prompt must have at least one token, such as <bos>, got valid_lens {lens.tolist()}.")
    return tokens, lens


def check_max_steps(config: TransformerConfig, max_steps: Any, batch: int, prompt_steps: int = 1) -> np.ndarray:
    """The number of steps of each row, [B] int64, from one for all or from one for each; None gives the most.

    The last token is not fed; so one of the prompt, or the start token, takes no position from those to come.
    """
    limit = config.max_len - prompt_steps + 1
    if max_steps is None:
        return np.full(batch, limit)
    steps = [max_steps] if np.ndim(max_steps) == 0 else list(max_steps)
    if len(steps) != batch and np.ndim(max_steps):
        raise ShapeError(f"max_steps must be one number, or one for each of {batch} rows, got {len(steps)}.")
    for number in steps:
        check_whole("max_steps", number)
        if not 1 <= number <= limit:
            after = f" - {prompt_steps - 1}, which a prompt of {prompt_steps} tokens leaves," if prompt_steps > 1 else ","
            raise TokenError(f"max_steps must be from 1 to max_len = {config.max_len}{after} got {number}.")
    return np.broadcast_to(np.array(steps, np.int64), (batch,))


def check_prefixes(config: TransformerConfig, prefixes: Any, limits: np.ndarray) -> np.ndarray | None:
    """Check the forced beginning of each target: ids [B, steps], -1 where there is none; None where no row has any.

    Args:
        prefixes: a list of ids for each row, empty where it has none. limits: [B], the most steps of each row.
    """
    if prefixes is None:
        return None
    if not config.has_encoder:
        raise ConfigError("prefixes must be None for a decoder alone, whose prompt is what it continues, got some.")
    rows = [list(prefix) for prefix in prefixes]
    if len(rows) != len(limits):
        raise ShapeError(f"prefixes must hold a list of ids for each of {len(limits)} rows, got {len(rows)}.")
    forced = np.full((len(rows), int(limits.max())), -1)
    for number, (prefix, limit) in enumerate(zip(rows, limits, strict=True), start=1):
        if not prefix:
            continue
        if len(prefix) >= limit:
            raise TokenError(f"Prefix {number} must be shorter than max_steps = {limit}, got {len(prefix)} tokens.")
        ids = check_tokens(f"Prefix {number}", [prefix], config.target_vocab_size or 0, config.max_len)[0]
        if config.eos_id in ids:
            raise TokenError(f"Prefix {number} must not hold eos_id = {config.eos_id}, which would end it, got {ids.tolist()}.")
        forced[number - 1, : len(ids)] = ids
    return forced if (forced >= 0).any() else None


def check_between(name: str, number: Any, low: float, high: float) -> None:
    """Refuse what is no number from ``low`` to ``high``."""
    if not isinstance(number, Real) or isinstance(number, bool) or not low <= float(number) <= high:
        raise ConfigError(f"{name} must be from {low:g} to {high:g}, got {number!r:.80}.")


def check_dropout_paths(masks: Iterable[str], sites: Iterable[str]) -> None:
    """Refuse injected dropout masks that are not exactly one for each dropout whose rate is above 0."""
    missing, unexpected = sorted(set(sites) - set(masks)), sorted(set(masks) - set(sites))
    if missing or unexpected:
        problems = [f"missing {path}" for path in missing] + [f"unexpected {path}" for path in unexpected]
        raise ShapeError(f"The dropout masks do not fit the model: {', '.join(problems)}.")
