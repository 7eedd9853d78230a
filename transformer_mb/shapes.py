"""Shape checks with one wording, used by the layers of every backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .errors import ShapeError


def check_features(name: str, shape: Sequence[int], size: int) -> None:
    """Refuse an input [B, T, size] of another rank or width."""
    if len(shape) != 3 or shape[-1] != size:
        raise ShapeError(f"{name} must have shape [B, T, {size}], got {list(shape)}.")


def check_same(first: str, first_shape: Sequence[int], second: str, second_shape: Sequence[int]) -> None:
    """Refuse two inputs that are to be added and differ in shape."""
    if tuple(first_shape) != tuple(second_shape):
        raise ShapeError(f"{first} and {second} must have the same shape, got {list(first_shape)} and {list(second_shape)}.")


def check_trailing(name: str, shape: Sequence[int], norm_shape: Sequence[int]) -> None:
    """Refuse an input whose trailing sizes are not ``norm_shape``."""
    if tuple(shape[len(shape) - len(norm_shape) :]) != tuple(norm_shape) or len(shape) < len(norm_shape):
        raise ShapeError(f"{name} must end in the sizes {list(norm_shape)}, got {list(shape)}.")


def check_valid_lens(shape: Sequence[int], batch: int, num_queries: int) -> None:
    """Refuse ``valid_lens`` that is neither [B] nor [B, T]."""
    if tuple(shape) not in ((batch,), (batch, num_queries)):
        raise ShapeError(f"valid_lens must have shape [{batch}] or [{batch}, {num_queries}], got {list(shape)}.")


def check_attention(queries: Sequence[int], keys: Sequence[int], values: Sequence[int]) -> None:
    """Refuse queries, keys and values that do not belong together: one batch, and one value for each key."""
    if queries[0] != keys[0] or keys[:-1] != values[:-1]:
        raise ShapeError(
            "queries, keys and values must share the batch, and keys and values their steps, got "
            f"{list(queries)}, {list(keys)} and {list(values)}."
        )


def check_dropout_paths(masks: Iterable[str], sites: Iterable[str]) -> None:
    """Refuse injected dropout masks that are not exactly one for each dropout whose rate is above 0."""
    missing, unexpected = sorted(set(sites) - set(masks)), sorted(set(masks) - set(sites))
    if missing or unexpected:
        problems = [f"missing {path}" for path in missing] + [f"unexpected {path}" for path in unexpected]
        raise ShapeError(f"The dropout masks do not fit the model: {', '.join(problems)}.")
