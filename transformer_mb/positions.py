"""Sinusoidal position vectors (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import numpy as np

from .config import LONGEST_TABLE
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
