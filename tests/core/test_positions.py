"""Sinusoids of the three layouts and rotary turns of the two, by their papers' formulas and by hand."""

import math

import numpy as np
import pytest

from transformer_mb.config import CHOICES, LONGEST_TABLE, TransformerConfig
from transformer_mb.errors import ConfigError
from transformer_mb.positions import relative_buckets, rotary_table, sinusoid_table

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


# Heads of width 4 at position 3: the pairs turn by 3 and by 3 / base^(1/2). With base 9 these are 3 and 1.
PAIRS = {"halves": ((0, 2), (1, 3)), "interleaved": ((0, 1), (2, 3))}


def test_every_rotary_layout_has_its_pairs():
    assert set(PAIRS) == set(CHOICES["rotary_layout"])


@pytest.mark.parametrize("layout", PAIRS)
def test_a_turn_by_complex_numbers(layout):
    """A pair x + iy is multiplied by e^(i angle)."""
    X, swapped, expected = np.array([1.0, 2.0, -3.0, 0.5]), np.empty(4), np.empty(4)
    for (first, second), angle in zip(PAIRS[layout], (3.0, 1.0), strict=True):
        swapped[[first, second]] = X[[second, first]]
        turned = complex(X[first], X[second]) * np.exp(1j * angle)
        expected[[first, second]] = turned.real, turned.imag
    cosines, sines = rotary_table(5, 4, 9.0, layout)[3]
    np.testing.assert_allclose(X * cosines + swapped * sines, expected, rtol=0, atol=1e-15)


SIZES = {"architecture": "decoder", "target_vocab_size": 9, "num_hiddens": 12, "decoder_num_heads": 2, "position": "rotary"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"decoder_num_heads": 4}, "The width of a head must be even for rotary positions, got 3."),
        ({"position_offset": 2}, "position_offset must be 0 for rotary positions, of which differences alone count, got 2."),
        ({"compat_decode": "d2l"}, "compat_decode must be correct for rotary positions, got d2l."),
        ({"rotary_base": 1.0}, "rotary_base must be a number above 1, got 1.0."),
        ({"rotary_base": -2.0}, "rotary_base must be a number above 1, got -2.0."),
        (
            {"max_len": LONGEST_TABLE + 1},
            f"max_len must be at most {LONGEST_TABLE} for rotary positions, got {LONGEST_TABLE + 1}.",
        ),
    ],
)
def test_what_rotary_positions_cannot_be(changes, words):
    with pytest.raises(ConfigError) as raised:
        TransformerConfig(**{**SIZES, **changes})
    assert str(raised.value) == words


@pytest.mark.parametrize(("table", "sizes"), [(rotary_table, (5, 4)), (relative_buckets, (5, 8, 16, True))])
def test_a_table_that_layers_share_is_made_once_and_nobody_writes_into_it(table, sizes):
    made = table(*sizes)
    assert table(*sizes) is made
    with pytest.raises(ValueError, match="read-only"):
        made[0] = 1


@pytest.mark.parametrize("farthest", [3000, 3500, 4000])
def test_buckets_of_far_distances(farthest):
    """16 + 16 log(d / 16) / log(farthest / 16) without its fraction, where that is no whole number to four digits."""
    table = relative_buckets(farthest, 32, farthest, bidirectional=False)
    for apart in range(16, farthest):
        place = 16 + 16 * math.log(apart / 16) / math.log(farthest / 16)
        assert table[farthest - apart] == int(place) or abs(place - round(place)) < 1e-4
