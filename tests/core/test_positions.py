"""Sinusoids of the three layouts, by their papers' formulas and by hand."""

import numpy as np
import pytest

from transformer_mb.config import CHOICES
from transformer_mb.positions import sinusoid_table

# Position 3 of a model of width 6. Wavelengths of the paper are 10000^(0, 1/3, 2/3) times 2 pi, fairseq's 10000^(0, 1/2, 1).
PAPER, FAIRSEQ = (1, 10000 ** (1 / 3), 10000 ** (2 / 3)), (1, 100, 10000)
BY_HAND = {
    "interleaved": [wave(3 / rate) for rate in PAPER for wave in (np.sin, np.cos)],
    "halves": [wave(3 / rate) for wave in (np.sin, np.cos) for rate in PAPER],
    "fairseq": [wave(3 / rate) for wave in (np.sin, np.cos) for rate in FAIRSEQ],
}


def test_every_layout_has_its_sums():
    assert set(BY_HAND) == set(CHOICES["sinusoid_layout"])


@pytest.mark.parametrize("layout", BY_HAND)
def test_a_position_by_hand(layout):
    assert np.abs(sinusoid_table(5, 6, layout)[3] - BY_HAND[layout]).max() < 1e-15
    others = [sinusoid_table(5, 6, other)[3] for other in BY_HAND if other != layout]
    assert all(np.abs(other - BY_HAND[layout]).max() > 0.01 for other in others)


def test_a_model_of_two_columns_has_one_wavelength():
    assert np.array_equal(sinusoid_table(4, 2, "fairseq"), sinusoid_table(4, 2, "halves"))


def test_the_table_of_fairseqs_function():
    """Its get_embedding, which computes in float32: exp of j * -(log(10000) / (half - 1)) times the position."""
    half = 16
    rates = np.exp(np.arange(half, dtype=np.float32) * np.float32(-np.log(10000) / (half - 1)))
    angles = np.arange(50, dtype=np.float32)[:, None] * rates
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    assert np.abs(sinusoid_table(50, 2 * half, "fairseq") - table).max() < 1e-5
