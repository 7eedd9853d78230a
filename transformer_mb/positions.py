"""Vectors of sinusoids (Vaswani et al. 2017, section 3.5), buckets of distances (Raffel et al. 2020) and rotary turns."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .config import LONGEST_TABLE, check_rotary_width
from .errors import ConfigError


def sinusoid_table(num_positions: int, num_hiddens: int, layout: str = "interleaved") -> np.ndarray:
    """[num_positions, D] float64: sin(p / 10000^(2j/D)) and cos of the same.

    ``interleaved`` puts them at columns 2j and 2j+1 (the paper, D2L); ``halves`` puts all sines before all cosines
    (MarianMT); ``fairseq`` does too, with the exponent j/(D/2 - 1), so that the last wavelength is the longest
    (fairseq and tensor2tensor: M2M-100, NLLB).
    """
    if num_positions > LONGEST_TABLE:
        raise ConfigError(f"max_len must be at most {LONGEST_TABLE} for sinusoidal positions, got {num_positions}.")
    if num_hiddens % 2:
        raise ConfigError(f"num_hiddens must be even for sinusoidal positions, got {num_hiddens}.")
    half = num_hiddens // 2
    steps = max(half - 1, 1) if layout == "fairseq" else half
    rates = np.power(10000.0, np.arange(half) / steps)
    angles = np.arange(num_positions)[:, None] / rates
    table = np.empty((num_positions, num_hiddens))
    sines, cosines = (slice(0, None, 2), slice(1, None, 2)) if layout == "interleaved" else (slice(half), slice(half, None))
    table[:, sines] = np.sin(angles)
    table[:, cosines] = np.cos(angles)
    return table


@lru_cache(maxsize=16)
def relative_buckets(max_len: int, buckets: int, max_distance: int, bidirectional: bool) -> np.ndarray:
    """[2 max_len + 1] int64, read only: T5's bucket of each distance from -max_len to max_len, which is a key's place less a
    query's.

    ``bidirectional`` gives half of the buckets to keys that come later; else all of these are in bucket 0. Of those for one
    side half hold one distance each, and the others hold more and more, up to ``max_distance``, from where on all are alike
    (Raffel et al. 2020, section 2.1). Logarithms are of float32, as in the published models, which are trained with what that
    rounds to.
    """
    distances = np.arange(-max_len, max_len + 1)
    later = np.zeros_like(distances)
    if bidirectional:
        buckets //= 2
        later = (distances > 0) * buckets
        apart = np.abs(distances)
    else:
        apart = -np.minimum(distances, 0)
    exact = buckets // 2
    rate, growing = np.float32(math.log(max_distance / exact)), np.float32(buckets - exact)
    logarithms = np.log(np.maximum(apart, exact).astype(np.float32) / np.float32(exact))
    far = np.minimum(exact + (logarithms / rate * growing).astype(np.int64), buckets - 1)
    table = later + np.where(apart < exact, apart, far)
    table.flags.writeable = False
    return table


def check_rotary_table(num_positions: int, width: int) -> None:
    """Refuse what there is no ``rotary_table`` of. Raises ConfigError."""
    if num_positions > LONGEST_TABLE:
        raise ConfigError(f"max_len must be at most {LONGEST_TABLE} for rotary positions, got {num_positions}.")
    check_rotary_width(width)


@lru_cache(maxsize=16)
def rotary_table(num_positions: int, width: int, base: float = 10000.0, layout: str = "halves") -> np.ndarray:
    """[num_positions, 2, width] float64, read only: cosines, and sines with a sign, of p / base^(2j/width).

    Pair j of a head's numbers is turned by that angle: x cos - y sin and y cos + x sin. ``halves`` pairs number j with number
    j + width/2 (GPT-NeoX, Llama in ``transformers``); ``interleaved`` pairs 2j with 2j + 1 (RoFormer, GPT-J, Llama's own
    files). With ``swapped`` for each number's partner, a head is turned to ``X * table[p, 0] + swapped * table[p, 1]``, and
    back by the sines' opposites.
    """
    check_rotary_table(num_positions, width)
    angles = np.arange(num_positions)[:, None] / np.power(base, np.arange(0, width, 2) / width)
    signs = np.array([-1.0, 1.0])
    if layout == "halves":
        angles, signs = np.tile(angles, 2), np.repeat(signs, width // 2)
    else:
        angles, signs = np.repeat(angles, 2, axis=1), np.tile(signs, width // 2)
    table = np.stack([np.cos(angles), np.sin(angles) * signs], axis=1)
    table.flags.writeable = False
    return table
