"""Values that a switch can have, and checks of what configurations and layers are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from .errors import ConfigError

CHOICES: dict[str, tuple[str, ...]] = {
    "architecture": ("encoder_decoder", "encoder", "decoder"),
    "norm_position": ("post", "pre"),
    "norm_kind": ("layer_norm", "std_norm", "rms_norm"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu"),
    "position": ("sinusoidal", "learned", "relative", "rotary"),
    "decoder_embedding_norm": ("sum", "tokens"),
    "sinusoid_layout": ("interleaved", "halves", "fairseq"),
    "rotary_layout": ("halves", "interleaved"),
    "compat_decode": ("correct", "d2l"),
    "normalization": ("steps", "tokens"),  # of the loss
    "precision": ("full", "bf16", "tf32"),  # of a trainer's matrix products
}


def check_choice(option: str, value: str) -> None:
    """Refuse what is not among ``CHOICES[option]``; every layer asks, in these words."""
    if value not in CHOICES[option]:
        raise ConfigError(f"{option} must be one of {', '.join(CHOICES[option])}, got {value!r}.")


def check_sizes(**sizes: int) -> None:
    """Refuse a size that is no whole number from 1 on; every layer asks, by the argument's name."""
    for name, size in sizes.items():
        check_whole(name, size)
        if size < 1:
            raise ConfigError(f"{name} must be at least 1, got {size}.")


def check_count(name: str, count: int) -> None:
    """Refuse what is no whole number from 0 on."""
    check_whole(name, count)
    if count < 0:
        raise ConfigError(f"{name} must not be negative, got {count}.")


def check_whole(name: str, number: Any) -> None:
    """Refuse what is no whole number, such as 2.0 or True."""
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise ConfigError(f"{name} must be a whole number, got {number!r:.80}.")


def check_rate(name: str, rate: float) -> None:
    """Refuse what is no share: 1 would drop, or smooth, everything."""
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0.0 <= rate < 1.0:
        raise ConfigError(f"{name} must be at least 0 and below 1, got {rate!r:.80}.")


def check_norm_eps(eps: float) -> None:
    if not isinstance(eps, Real) or not 0.0 < eps < 1.0:
        raise ConfigError(f"norm_eps must be positive and below 1, got {eps!r:.80}.")


def check_rotary_base(name: str, base: float) -> None:
    """Refuse a base by which the wavelengths of rotary positions would not grow."""
    if isinstance(base, bool) or not isinstance(base, Real) or not 1.0 < base < math.inf:
        raise ConfigError(f"{name} must be a number above 1, got {base!r:.80}.")


def check_rotary_width(width: int) -> None:
    """Refuse heads whose numbers are no pairs."""
    if width % 2:
        raise ConfigError(f"The width of a head must be even for rotary positions, got {width}.")


def check_norm(norm_shape: int | Sequence[int], eps: float, kind: str) -> tuple[int, ...]:
    """The trailing sizes that a normalization goes over, all its arguments having been checked."""
    check_choice("norm_kind", kind)
    check_norm_eps(eps)
    sizes = tuple(norm_shape) if isinstance(norm_shape, Sequence) and not isinstance(norm_shape, str) else (norm_shape,)
    if not sizes:
        raise ConfigError("norm_shape must hold at least one size, got none.")
    for size in sizes:
        check_sizes(norm_shape=size)
    if kind == "std_norm" and math.prod(sizes) < 2:
        raise ConfigError("std_norm needs norm_shape of at least 2 numbers: one has no unbiased deviation.")
    return sizes


def check_table(vocab_size: int, num_hiddens: int, max_len: int, padding_id: int | None) -> None:
    """Refuse the sizes of what makes vectors of tokens, and a padding id that is no row of the table."""
    check_sizes(vocab_size=vocab_size, num_hiddens=num_hiddens, max_len=max_len)
    if padding_id is not None and not 0 <= padding_id < vocab_size:
        raise ConfigError(f"padding_id must be from 0 to {vocab_size - 1}, got {padding_id}.")


def check_heads(
    num_hiddens: int, num_heads: int, present: bool = True, name: str = "num_heads", head_size: int | None = None
) -> int:
    """The width of a head; a width of the model is refused that the heads cannot share evenly, unless they have their own."""
    check_sizes(num_hiddens=num_hiddens, **{name: num_heads})
    if head_size is not None:
        check_sizes(head_size=head_size)
        return head_size
    if present and num_hiddens % num_heads:
        raise ConfigError(f"num_hiddens must be divisible by {name}, but {num_hiddens} is not divisible by {num_heads}.")
    return num_hiddens // num_heads


def check_kv_heads(num_heads: int, num_kv_heads: int | None, name: str = "num_heads") -> int:
    """The number of heads of keys and values, None meaning as many as of queries; one is refused that does not divide those."""
    if num_kv_heads is None:
        return num_heads
    check_sizes(num_kv_heads=num_kv_heads)
    if num_heads % num_kv_heads:
        raise ConfigError(f"num_kv_heads must divide {name} = {num_heads}, got {num_kv_heads}.")
    return num_kv_heads


def check_buckets(buckets: int, max_distance: int) -> None:
    """Refuse buckets too few to tell the sides apart, or a longest distance that comes before they grow."""
    check_sizes(relative_buckets=buckets, relative_max_distance=max_distance)
    if buckets < 4:
        raise ConfigError(f"relative_buckets must be at least 4, got {buckets}.")
    if max_distance <= buckets // 2:
        raise ConfigError(f"relative_max_distance must be above relative_buckets / 2 = {buckets // 2}, got {max_distance}.")
